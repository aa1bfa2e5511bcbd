import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectOf, objectsOf, textsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { outputCounter } from '../count-output.ts';
import type { AnswerObserver } from '../dialect.ts';
import { repairCounts } from '../usage.ts';
import { usageMetadata, usageOf } from './usage.ts';

const OUTPUT = /"(?:parts|finishReason|promptFeedback)"/;

export const observer: AnswerObserver = {
  // Every event has usage: those whose counts are no integers are read as well.
  markers: ['"finishReason"', '"blockReason"', '"error"', /TokenCount"\s*:\s*(?!\d+[\s,}])/],
  countOutput: outputCounter(/"(?:text|functionCall)"\s*:/g),
  hasOutput: (frames) => OUTPUT.test(frames),
  observe(event) {
    if (isObject(event['error'])) return { failure: upstreamFailure(null, event) };
    const usage = usageOf(event['usageMetadata']);
    return {
      ...(usage !== null && { usage }),
      ...(repairUsage(event, usage) && { rewritten: event }),
      ...(isLast(event) && { terminal: true }),
    };
  },
  observeAnswer(body) {
    const { error, candidates, promptFeedback } = body;
    const failure = isObject(error) ? upstreamFailure(null, body) : null;
    const isBlocked = candidates === undefined && isObject(promptFeedback);
    // The answer to a blocked prompt has no candidates. In place, since an answer is parsed for one client alone.
    if (isBlocked) Object.assign(body, { candidates: [] });
    const usage = usageOf(body['usageMetadata']);
    repairUsage(body, usage);
    return { usage, body, failure };
  },
  finishReasons: ({ candidates }) =>
    textsOf(objectsOf(candidates).map((candidate) => candidate['finishReason'])),
};

/** Repairs the counts of usage in an event or a whole answer. @returns whether there were any to repair */
function repairUsage({ usageMetadata: own }: Json, usage: Usage | null): boolean {
  return repairCounts(objectOf(own), usageMetadata(usage));
}

/** Whether a candidate ends with an event, or the prompt was blocked. */
function isLast({ candidates, promptFeedback }: Json): boolean {
  if (isObject(promptFeedback) && typeof promptFeedback['blockReason'] === 'string') return true;
  return objectsOf(candidates).some(
    ({ finishReason }) => typeof finishReason === 'string' && finishReason !== '',
  );
}
