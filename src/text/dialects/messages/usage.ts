import { countOf, isObject } from '../../../schema/untrusted.ts';
import type { Json, Usage } from '../../canonical.ts';

/** Counts as this dialect tells them, those that were told so far. Input leaves out what a cache gave or took. */
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

/** What is told later stands, field by field: counts are of the whole message so far. */
export function counted(before: Counts, told: unknown): Counts {
  if (!isObject(told)) return before;
  const details = told['output_tokens_details'];
  const thinking = isObject(details) ? countOf(details['thinking_tokens']) : null;
  return {
    input: countOf(told['input_tokens']) ?? before.input,
    output: countOf(told['output_tokens']) ?? before.output,
    cacheRead: countOf(told['cache_read_input_tokens']) ?? before.cacheRead,
    cacheWrite: countOf(told['cache_creation_input_tokens']) ?? before.cacheWrite,
    reasoning: thinking ?? before.reasoning,
  };
}

/** Null where nothing was counted. */
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

/** A usage as this dialect writes it; zeros where nothing is known yet. */
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
