import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectsOf, textsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { outputCounter } from '../count-output.ts';
import type { AnswerObserver } from '../dialect.ts';
import { usageOf } from './usage.ts';

const OUTPUT = /"(?:parts|finishReason|promptFeedback)"/;

export const observer: AnswerObserver = {
  markers: ['"finishReason"', '"blockReason"', '"error"'],
  countOutput: outputCounter(/"(?:text|functionCall)"\s*:/g),
  hasOutput: (frames) => OUTPUT.test(frames),
  observe(event) {
    if (isObject(event['error'])) return { failure: upstreamFailure(null, event) };
    const usage = usageOf(event['usageMetadata']);
    return { ...(usage !== null && { usage }), ...(isLast(event) && { terminal: true }) };
  },
  observeAnswer(body) {
    const { error, candidates, promptFeedback } = body;
    const failure = isObject(error) ? upstreamFailure(null, body) : null;
    const isBlocked = candidates === undefined && isObject(promptFeedback);
    // The answer to a blocked prompt has no candidates. In place, since an answer is parsed for one client alone.
    if (isBlocked) Object.assign(body, { candidates: [] });
    return { usage: usageOf(body['usageMetadata']), body, failure };
  },
  finishReasons: ({ candidates }) =>
    textsOf(objectsOf(candidates).map((candidate) => candidate['finishReason'])),
};

/** Whether a candidate ends with an event, or the prompt was blocked. */
function isLast({ candidates, promptFeedback }: Json): boolean {
  if (isObject(promptFeedback) && typeof promptFeedback['blockReason'] === 'string') return true;
  return objectsOf(candidates).some(
    ({ finishReason }) => typeof finishReason === 'string' && finishReason !== '',
  );
}
