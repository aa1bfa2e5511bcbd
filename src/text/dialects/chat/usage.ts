import { countOf, isObject, objectOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { hourlyWritesOf } from '../usage.ts';

/** The usage object of a chunk or an answer. Groq streams it in `x_groq`, Moonshot in the last choice. */
export function usageIn({ usage, x_groq: groq, choices }: Json): unknown {
  if (isObject(usage)) return usage;
  const ofGroq = objectOf(groq)['usage'];
  if (isObject(ofGroq)) return ofGroq;
  return Array.isArray(choices) ? objectOf(choices[0])['usage'] : undefined;
}

/**
 * The usage that a chat provider reports; null if it reports none.
 *
 * @param before the usage of earlier chunks, since some providers report it in parts
 */
export function usageOf(value: unknown, before: Usage | null = null): Usage | null {
  const usage = objectOf(value);
  const input = countOf(usage['prompt_tokens']) ?? countOf(usage['input_tokens']);
  const reported = countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']);
  const total = countOf(usage['total_tokens']);
  if (input === null && reported === null && total === null) return before;
  const prompt = objectOf(usage['prompt_tokens_details']);
  const completion = objectOf(usage['completion_tokens_details']);
  const rest = Math.max(0, (total ?? 0) - (reported ?? 0));
  // A total above the sum of its parts means that the output lacks the reasoning tokens.
  const output = input === null || total === null ? 0 : total - input;
  const writtenForAnHour = hourlyWritesOf(prompt) ?? before?.cacheWrite1h ?? 0;
  return {
    input: input ?? before?.input ?? rest,
    output: Math.max(reported ?? before?.output ?? 0, output),
    cachedInput:
      countOf(prompt['cached_tokens']) ??
      countOf(usage['cached_input_tokens']) ??
      countOf(usage['prompt_cache_hit_tokens']) ??
      countOf(usage['cached_tokens']) ??
      countOf(usage['cache_read_input_tokens']) ??
      before?.cachedInput ??
      0,
    cacheWrite:
      countOf(prompt['cache_write_tokens']) ??
      countOf(prompt['cache_creation_tokens']) ??
      countOf(usage['cache_creation_input_tokens']) ??
      before?.cacheWrite ??
      0,
    ...(writtenForAnHour > 0 && { cacheWrite1h: writtenForAnHour }),
    reasoning: countOf(completion['reasoning_tokens']) ?? before?.reasoning ?? null,
  };
}
