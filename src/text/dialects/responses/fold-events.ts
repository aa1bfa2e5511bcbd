import type { Json, TextEvent } from '../../canonical/canonical.ts';
import { truncatedAnswer } from '../answer-errors.ts';
import type { EncodeContext } from '../dialect.ts';
import { ResponsesEncoder } from './encode-events.ts';

/**
 * Folds events into a response, equal to the one in the last event of a stream.
 *
 * @throws Failure if the answer failed or has no end
 */
export function foldEvents(
  context: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const encoder = new ResponsesEncoder(context, true);
  for (const event of choices[0] ?? []) encoder.push(event);
  if (encoder.failure) throw encoder.failure;
  if (encoder.answer) return encoder.answer;
  throw truncatedAnswer();
}
