import { countOf, objectOf } from '../../schema/untrusted.ts';
import type { MediaUsage } from '../task/task-request.ts';

/** Larger token counts are ignored as invalid. */
const MAX_TOKENS = 2 ** 40;

/** Reads a provider's usage object, by OpenAI's property names or by Oriel's; null where it is empty. */
export function usageOf(value: unknown): MediaUsage | null {
  const usage = objectOf(value);
  const details = objectOf(usage['input_tokens_details'] ?? usage['prompt_tokens_details']);
  const reportedInput = tokens(usage['input_tokens']) ?? tokens(usage['prompt_tokens']);
  const reportedOutput = tokens(usage['output_tokens']) ?? tokens(usage['completion_tokens']);
  const total = tokens(usage['total_tokens']);
  if (reportedInput === null && reportedOutput === null && total === null) return null;
  const input = reportedInput ?? 0;
  const output = reportedOutput ?? 0;
  const cached = tokens(usage['cached_input_tokens']) ?? tokens(details['cached_tokens']) ?? 0;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total ?? input + output,
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: Math.min(cached, input),
  };
}

function tokens(value: unknown): number | null {
  const count = countOf(value);
  return count !== null && count <= MAX_TOKENS ? count : null;
}
