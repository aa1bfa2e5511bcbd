import * as v from 'valibot';
import { countOf, isObject, objectOf } from '../../schema/untrusted.ts';
import { usageEntries } from '../../schema/usage.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Usage } from '../canonical/events.ts';

/** The usage object of an answer; providers add fields. */
export const usageSchema = v.looseObject(usageEntries);

/** The six integers of usage that chat and responses have beside their own details. */
export function integersOf({ input, output, cachedInput }: Usage) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: cachedInput,
  };
}

/** Lifetimes of what was written to a cache, by the names of LiteLLM; absent unless some of it is kept for an hour. */
export function cacheLifetimes({ cacheWrite, cacheWrite1h = 0 }: Usage): Json {
  if (cacheWrite1h === 0) return {};
  return {
    cache_creation_token_details: {
      ephemeral_5m_input_tokens: Math.max(0, cacheWrite - cacheWrite1h),
      ephemeral_1h_input_tokens: cacheWrite1h,
    },
  };
}

/** The part of the cache writes in details of input tokens that the cache keeps for an hour; null if not reported. */
export function hourlyWritesOf(details: Json): number | null {
  return countOf(objectOf(details['cache_creation_token_details'])['ephemeral_1h_input_tokens']);
}

/** Members of usage that count tokens; others are costs, times and names. */
const COUNT = /_tokens$|TokenCount$/;

/**
 * Replaces counts in a provider's usage that are no integers, at any depth. In place, as `completeUsage`.
 *
 * @param known counts by their names, also for those that are null; others become 0
 * @returns whether there were any
 */
export function repairCounts(native: Json, known: Json = {}): boolean {
  const own = native as Record<string, unknown>;
  let repaired = false;
  for (const name in own) {
    const value = own[name];
    if (isObject(value)) {
      repaired = repairCounts(value) || repaired;
    } else if (COUNT.test(name) && countOf(value) === null && (value !== null || name in known)) {
      own[name] = known[name] ?? 0;
      repaired = true;
    }
  }
  return repaired;
}

/**
 * Adds those of the six integers that a provider's usage lacks. In place, since an answer is parsed for
 * one client alone and a copy takes 3 µs.
 *
 * @returns whether it lacked any, or had counts that are no integers
 */
export function completeUsage(native: Json, usage: Usage): boolean {
  const integers = integersOf(usage);
  const own = native as Record<string, unknown>;
  let lacked = repairCounts(native, integers);
  for (const name in integers) {
    if (countOf(own[name]) !== null) continue;
    own[name] = integers[name as keyof typeof integers];
    lacked = true;
  }
  return lacked;
}

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
