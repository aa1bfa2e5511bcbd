import { countOf, objectOf } from '../../schema/untrusted.ts';
import type { MediaUsage } from '../result.ts';

/** More tokens than any answer has: larger counts are no counts. */
const MOST = 2 ** 40;

/** The usage that a provider tells, by OpenAI's names or by ours; null where it tells none. */
export function usageOf(told: unknown): MediaUsage | null {
  const usage = objectOf(told);
  const details = objectOf(usage['input_tokens_details'] ?? usage['prompt_tokens_details']);
  const input = tokens(usage['input_tokens']) ?? tokens(usage['prompt_tokens']);
  const output = tokens(usage['output_tokens']) ?? tokens(usage['completion_tokens']);
  const total = tokens(usage['total_tokens']);
  if (input === null && output === null && total === null) return null;
  const sent = input ?? 0;
  const made = output ?? 0;
  const cached = tokens(usage['cached_input_tokens']) ?? tokens(details['cached_tokens']) ?? 0;
  return {
    prompt_tokens: sent,
    completion_tokens: made,
    total_tokens: total ?? sent + made,
    input_tokens: sent,
    output_tokens: made,
    cached_input_tokens: Math.min(cached, sent),
  };
}

function tokens(value: unknown): number | null {
  const count = countOf(value);
  return count !== null && count <= MOST ? count : null;
}
