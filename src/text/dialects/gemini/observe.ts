import type { Failure } from '../../../failure.ts';
import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, listOf, objectsOf, textsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { outputCounter } from '../count-output.ts';
import type { Observation } from '../dialect.ts';
import { usageOf } from './usage.ts';

export const markers = ['"finishReason"', '"blockReason"', '"error"'] as const;

export const countOutput = outputCounter(/"(?:text|functionCall)"\s*:/g);

const OUTPUT = /"(?:parts|finishReason|promptFeedback)"/;

export function hasOutput(frames: string): boolean {
  return OUTPUT.test(frames);
}

export function observe(event: Json): Observation {
  if (isObject(event['error'])) return { failure: upstreamFailure(null, event) };
  const usage = usageOf(event['usageMetadata']);
  return { ...(usage !== null && { usage }), ...(isLast(event) && { terminal: true }) };
}

/** Whether a candidate ends with an event, or the prompt was blocked. */
function isLast({ candidates, promptFeedback }: Json): boolean {
  if (isObject(promptFeedback) && typeof promptFeedback['blockReason'] === 'string') return true;
  return listOf(candidates).some(
    (one) => isObject(one) && typeof one['finishReason'] === 'string' && one['finishReason'] !== '',
  );
}

export function finishReasons({ candidates }: Json): readonly string[] {
  return textsOf(objectsOf(listOf(candidates)).map((candidate) => candidate['finishReason']));
}

export function observeAnswer(body: Json): {
  readonly usage: Usage | null;
  readonly body: Json;
  readonly failure: Failure | null;
} {
  const { error, candidates, promptFeedback } = body;
  const failure = isObject(error) ? upstreamFailure(null, body) : null;
  const isBlocked = candidates === undefined && isObject(promptFeedback);
  // The answer to a blocked prompt has no candidates. In place, since an answer is parsed for one client alone.
  if (isBlocked) Object.assign(body, { candidates: [] });
  return { usage: usageOf(body['usageMetadata']), body, failure };
}
