import type { Failure } from '../../../failure.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { RelayProgress } from '../dialect.ts';
import { namedFrame } from '../named-frame.ts';
import { answerHead, responseError } from './answer.ts';

/** The sequence number of the last event in frames; -1 for none. */
function lastSequence(frames: string): number {
  const numbers = [...frames.matchAll(/"sequence_number"\s*:\s*(\d{1,9})\b/g)];
  return Number(numbers.at(-1)?.[1] ?? -1);
}

/**
 * The last frames of a passed-on stream that failed. They continue the response and the sequence numbers
 * of the upstream.
 */
export function failFrames(failure: Failure, { context, first, last }: RelayProgress): string {
  const { type, message, param, code } = failure;
  const sequence = lastSequence(last) + 1;
  const started = first?.['response'];
  const response = {
    ...(isObject(started)
      ? started
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
  return (
    namedFrame({
      type: 'error',
      code,
      message,
      param,
      error: { type, message, param, code },
      sequence_number: sequence,
    }) + namedFrame({ type: 'response.failed', response, sequence_number: sequence + 1 })
  );
}
