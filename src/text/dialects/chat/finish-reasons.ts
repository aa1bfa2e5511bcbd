import type { FinishReason } from '../../canonical/events.ts';

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  tool_use: 'tool-calls',
  content_filter: 'refusal',
  refusal: 'refusal',
};

/** Finish reasons of an answer that failed. */
export const FAILED_REASONS = new Set([
  'error',
  'insufficient_system_resource',
  'abort',
  'aborted',
]);

/** Why an answer ended. @param raw the provider's word; null where it has none */
export function finishReasonOf(raw: string | null, hasCalls: boolean): FinishReason {
  const reason = raw === null ? 'stop' : Object.hasOwn(REASONS, raw) ? REASONS[raw]! : 'other';
  if (reason === 'length' || reason === 'refusal') return reason;
  if (hasCalls) return 'tool-calls';
  return reason === 'tool-calls' ? 'stop' : reason;
}
