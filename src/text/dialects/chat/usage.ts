import { countOf, objectOf } from '../../../schema/untrusted.ts';
import type { Json, Usage } from '../../canonical.ts';
import { integersOf } from '../usage.ts';

/**
 * Tokens as a provider counts them in this dialect; null where it tells nothing.
 *
 * @param before what it told earlier, for some tell it in parts
 */
export function usageOf(value: unknown, before: Usage | null = null): Usage | null {
  const usage = objectOf(value);
  const input = countOf(usage['prompt_tokens']) ?? countOf(usage['input_tokens']);
  const told = countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']);
  const total = countOf(usage['total_tokens']);
  if (input === null && told === null && total === null) return before;
  const prompt = objectOf(usage['prompt_tokens_details']);
  const completion = objectOf(usage['completion_tokens_details']);
  const rest = Math.max(0, (total ?? 0) - (told ?? 0));
  // Where the total is more than its parts, reasoning was left out of the output.
  const output = input === null || total === null ? 0 : total - input;
  return {
    input: input ?? before?.input ?? rest,
    output: Math.max(told ?? before?.output ?? 0, output),
    cachedInput:
      countOf(prompt['cached_tokens']) ??
      countOf(usage['cached_input_tokens']) ??
      countOf(usage['prompt_cache_hit_tokens']) ??
      countOf(usage['cached_tokens']) ??
      before?.cachedInput ??
      0,
    cacheWrite: countOf(prompt['cache_write_tokens']) ?? before?.cacheWrite ?? 0,
    reasoning: countOf(completion['reasoning_tokens']) ?? before?.reasoning ?? null,
  };
}

/** The usage of an answer in this dialect: the six integers beside the details. */
export function usageBody(usage: Usage): Json {
  const { cachedInput, cacheWrite, reasoning } = usage;
  return {
    ...integersOf(usage),
    prompt_tokens_details: {
      cached_tokens: cachedInput,
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
    },
    ...(reasoning !== null && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Several answers' usage as one: of the counts that not all told, those that were. */
export function sumOf(usages: readonly (Usage | null)[]): Usage | null {
  const told = usages.filter((usage) => usage !== null);
  const [first, ...others] = told;
  if (first === undefined) return null;
  return others.reduce(
    (sum, usage) => ({
      input: sum.input + usage.input,
      output: sum.output + usage.output,
      cachedInput: sum.cachedInput + usage.cachedInput,
      cacheWrite: sum.cacheWrite + usage.cacheWrite,
      reasoning:
        sum.reasoning === null && usage.reasoning === null
          ? null
          : (sum.reasoning ?? 0) + (usage.reasoning ?? 0),
    }),
    first,
  );
}
