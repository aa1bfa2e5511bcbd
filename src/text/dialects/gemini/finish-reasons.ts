import { codedFailure } from '../../../failure.ts';
import type { FinishReason } from '../../canonical/events.ts';

const REASONS = new Map<string, FinishReason>([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'refusal'],
  ['RECITATION', 'refusal'],
  ['BLOCKLIST', 'refusal'],
  ['PROHIBITED_CONTENT', 'refusal'],
  ['SPII', 'refusal'],
  ['IMAGE_SAFETY', 'refusal'],
  ['IMAGE_PROHIBITED_CONTENT', 'refusal'],
  ['IMAGE_RECITATION', 'refusal'],
]);

/**
 * The canonical reason for the end of an answer.
 *
 * @throws Failure for the end of an answer that failed, such as MALFORMED_FUNCTION_CALL, and for unknown
 *   reasons: a client would take them for success
 */
export function finishReasonOf(raw: string, hasCalls: boolean, message: string): FinishReason {
  const reason = REASONS.get(raw);
  if (reason === undefined) {
    const why = message === '' ? '' : `: ${message}`;
    throw codedFailure(
      'upstream_error',
      `The provider ended the answer with ${raw.slice(0, 60)}${why}`,
      { detail: raw.slice(0, 60) },
    );
  }
  return reason === 'stop' && hasCalls ? 'tool-calls' : reason;
}

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  refusal: 'SAFETY',
  pause: 'STOP',
  other: 'OTHER',
};

/** Google's word for the end of an answer of any upstream. */
export const finishWordOf = (reason: FinishReason): string => WORDS[reason];
