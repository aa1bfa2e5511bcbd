import type { Usage } from '../canonical/events.ts';

export const NO_USAGE: Usage = {
  input: 0,
  output: 0,
  cachedInput: 0,
  cacheWrite: 0,
  reasoning: null,
};

export function sumOfUsages(usages: readonly Usage[]): Usage {
  if (usages.length === 1) return usages[0]!;
  const sum = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: 0 };
  for (const usage of usages) {
    sum.input += usage.input;
    sum.output += usage.output;
    sum.cachedInput += usage.cachedInput;
    sum.cacheWrite += usage.cacheWrite;
    sum.cacheWrite1h += usage.cacheWrite1h ?? 0;
    sum.reasoning += usage.reasoning ?? 0;
  }
  return sum;
}

/** The input of one request by its prices: parts that add up to it, also where the provider reports larger ones. */
export function inputPartsOf({ input, cachedInput, cacheWrite, cacheWrite1h = 0 }: Usage) {
  const cached = Math.min(cachedInput, input);
  const written = Math.min(cacheWrite, input - cached);
  const writtenForAnHour = Math.min(cacheWrite1h, written);
  return {
    /** Neither read from a cache nor written to one. */
    plain: input - cached - written,
    cached,
    /** Written to a cache for five minutes, or for a time that the provider does not report. */
    written: written - writtenForAnHour,
    writtenForAnHour,
  };
}

/** Bytes of JSON per token of input, and characters of text per token of output, about. */
const BYTES_PER_TOKEN = 4;

/** Estimate of the tokens in some bytes of JSON, or characters of text. */
export function tokensIn(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
