import { countOf, isObject, objectOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';

/** Token counts of the messages format so far; null if not reported. `input` excludes cached tokens. */
export interface Counts {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  /** The part of `cacheWrite` that the cache keeps for an hour. */
  readonly cacheWrite1h: number | null;
  readonly reasoning: number | null;
}

export const NOTHING_COUNTED: Counts = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  reasoning: null,
};

/** Updates counts by a usage report: each count is of the whole message so far. */
export function counted(before: Counts, reported: unknown): Counts {
  if (!isObject(reported)) return before;
  const details = reported['output_tokens_details'];
  const thinking = isObject(details) ? countOf(details['thinking_tokens']) : null;
  const written = objectOf(reported['cache_creation']);
  const fiveMinutes = countOf(written['ephemeral_5m_input_tokens']);
  const hour = countOf(written['ephemeral_1h_input_tokens']);
  const sum = fiveMinutes === null && hour === null ? null : (fiveMinutes ?? 0) + (hour ?? 0);
  return {
    input: countOf(reported['input_tokens']) ?? before.input,
    output: countOf(reported['output_tokens']) ?? before.output,
    cacheRead: countOf(reported['cache_read_input_tokens']) ?? before.cacheRead,
    cacheWrite: countOf(reported['cache_creation_input_tokens']) ?? sum ?? before.cacheWrite,
    cacheWrite1h: hour ?? before.cacheWrite1h,
    reasoning: thinking ?? before.reasoning,
  };
}

/** The usage of counts; null if nothing was counted. */
export function usageOf(counts: Counts): Usage | null {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning } = counts;
  if (input === null && output === null && cacheRead === null && cacheWrite === null) return null;
  const cachedInput = cacheRead ?? 0;
  const written = cacheWrite ?? 0;
  const writtenForAnHour = Math.min(cacheWrite1h ?? 0, written);
  return {
    input: (input ?? 0) + cachedInput + written,
    output: output ?? 0,
    cachedInput,
    cacheWrite: written,
    ...(writtenForAnHour > 0 && { cacheWrite1h: writtenForAnHour }),
    reasoning,
  };
}

/** The counts that make up a usage. */
export function countsOf(usage: Usage): Counts {
  const { input, output, cachedInput, cacheWrite, cacheWrite1h = 0, reasoning } = usage;
  return {
    input: Math.max(0, input - cachedInput - cacheWrite),
    output,
    cacheRead: cachedInput,
    cacheWrite,
    cacheWrite1h,
    reasoning,
  };
}

/** A usage in the messages format, with zeros for unknown counts. */
export function usageObject(usage: Usage | null): Json {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning } = usage
    ? countsOf(usage)
    : NOTHING_COUNTED;
  const written = cacheWrite ?? 0;
  const writtenForAnHour = Math.min(cacheWrite1h ?? 0, written);
  return {
    input_tokens: input ?? 0,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cacheRead ?? 0,
    ...(written > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: written - writtenForAnHour,
        ephemeral_1h_input_tokens: writtenForAnHour,
      },
    }),
    output_tokens: output ?? 0,
    ...(reasoning !== null && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
