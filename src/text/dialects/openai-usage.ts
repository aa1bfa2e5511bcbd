import type { Json } from '../canonical/canonical.ts';
import type { Usage } from '../canonical/events.ts';
import { cacheLifetimes, integersOf } from './usage.ts';

/** The usage of an answer of chat or legacy completions: six integers and the details. */
export function openaiUsage(usage: Usage): Json {
  const { cachedInput, cacheWrite, reasoning } = usage;
  return {
    ...integersOf(usage),
    prompt_tokens_details: {
      cached_tokens: cachedInput,
      ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }),
      ...cacheLifetimes(usage),
    },
    ...(reasoning !== null && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** The sum of the usage of several choices; counts that a choice lacks are 0. */
export function sumOf(usages: readonly (Usage | null)[]): Usage | null {
  const [first, ...others] = usages.filter((usage) => usage !== null);
  if (first === undefined) return null;
  return others.reduce(
    (sum, usage) => ({
      input: sum.input + usage.input,
      output: sum.output + usage.output,
      cachedInput: sum.cachedInput + usage.cachedInput,
      cacheWrite: sum.cacheWrite + usage.cacheWrite,
      cacheWrite1h: (sum.cacheWrite1h ?? 0) + (usage.cacheWrite1h ?? 0),
      reasoning:
        sum.reasoning === null && usage.reasoning === null
          ? null
          : (sum.reasoning ?? 0) + (usage.reasoning ?? 0),
    }),
    first,
  );
}
