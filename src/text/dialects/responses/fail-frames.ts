import type { Failure } from '../../../failure.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { Relayed } from '../dialect.ts';
import { answerHead, responseError } from './answer.ts';

/** The number of the last event among frames; -1 where there is none. */
function lastSequence(frames: string): number {
  const numbers = [...frames.matchAll(/"sequence_number"\s*:\s*(\d{1,9})\b/g)];
  return Number(numbers.at(-1)?.[1] ?? -1);
}

/**
 * What tells a client that a stream which was passed on went wrong: the events of its own answer go
 * on, and end.
 */
export function failFrames(failure: Failure, { context, first, last }: Relayed): string {
  const { type, message, param, code } = failure;
  const sequence = lastSequence(last) + 1;
  const begun = first?.['response'];
  const response = {
    ...(isObject(begun)
      ? begun
      : {
          ...answerHead(context, newId('resp'), context.request.model),
          completed_at: null,
          incomplete_details: null,
          output: [],
          usage: null,
        }),
    status: 'failed',
    error: responseError(failure),
  };
  const frame = (event: string, fields: object) =>
    `event: ${event}\ndata: ${JSON.stringify({ type: event, ...fields })}\n\n`;
  return (
    frame('error', {
      code,
      message,
      param,
      error: { type, message, param, code },
      sequence_number: sequence,
    }) + frame('response.failed', { response, sequence_number: sequence + 1 })
  );
}
