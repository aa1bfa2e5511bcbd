import type { Usage } from '../canonical/events.ts';

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
export const tokensIn = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
