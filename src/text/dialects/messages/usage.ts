import { countOf, isObject } from '../../../schema/untrusted.ts';
import type { Json, Usage } from '../../canonical.ts';

/** Token counts of the messages format so far; null if not reported. `input` excludes cached tokens. */
export interface Counts {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly reasoning: number | null;
}

export const NOTHING_COUNTED: Counts = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
};

/** Updates counts by a usage report: each count is of the whole message so far. */
export function counted(before: Counts, reported: unknown): Counts {
  if (!isObject(reported)) return before;
  const details = reported['output_tokens_details'];
  const thinking = isObject(details) ? countOf(details['thinking_tokens']) : null;
  return {
    input: countOf(reported['input_tokens']) ?? before.input,
    output: countOf(reported['output_tokens']) ?? before.output,
    cacheRead: countOf(reported['cache_read_input_tokens']) ?? before.cacheRead,
    cacheWrite: countOf(reported['cache_creation_input_tokens']) ?? before.cacheWrite,
    reasoning: thinking ?? before.reasoning,
  };
}

/** The usage of counts; null if nothing was counted. */
export function usageOf({ input, output, cacheRead, cacheWrite, reasoning }: Counts): Usage | null {
  if (input === null && output === null && cacheRead === null && cacheWrite === null) return null;
  const cachedInput = cacheRead ?? 0;
  const written = cacheWrite ?? 0;
  return {
    input: (input ?? 0) + cachedInput + written,
    output: output ?? 0,
    cachedInput,
    cacheWrite: written,
    reasoning,
  };
}

/** The counts that make up a usage. */
export function countsOf(usage: Usage): Counts {
  const { input, output, cachedInput, cacheWrite, reasoning } = usage;
  return {
    input: Math.max(0, input - cachedInput - cacheWrite),
    output,
    cacheRead: cachedInput,
    cacheWrite,
    reasoning,
  };
}

/** A usage in the messages format, with zeros for unknown counts. */
export function usageObject(usage: Usage | null): Json {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage
    ? countsOf(usage)
    : NOTHING_COUNTED;
  return {
    input_tokens: input ?? 0,
    cache_creation_input_tokens: cacheWrite ?? 0,
    cache_read_input_tokens: cacheRead ?? 0,
    output_tokens: output ?? 0,
    ...(reasoning !== null && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
