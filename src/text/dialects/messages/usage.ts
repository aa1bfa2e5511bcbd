import { countOf, isObject, objectOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { NO_USAGE, type Usage } from '../../canonical/events.ts';

/** Input that neither came from a cache nor was written to one: the `input_tokens` of this format. */
function plainInputOf({ input, cachedInput, cacheWrite }: Usage): number {
  return Math.max(0, input - cachedInput - cacheWrite);
}

/**
 * The usage of a message so far; null if nothing was counted.
 *
 * @param before the usage of earlier reports, since each has only some of the counts
 */
export function usageOf(reported: unknown, before: Usage | null = null): Usage | null {
  if (!isObject(reported)) return before;
  const count = (name: string) => countOf(reported[name]);
  const input = count('input_tokens');
  const output = count('output_tokens');
  const cacheRead = count('cache_read_input_tokens');
  const written = objectOf(reported['cache_creation']);
  const fiveMinutes = countOf(written['ephemeral_5m_input_tokens']);
  const hour = countOf(written['ephemeral_1h_input_tokens']);
  const sum = fiveMinutes === null && hour === null ? null : (fiveMinutes ?? 0) + (hour ?? 0);
  const allWritten = count('cache_creation_input_tokens') ?? sum;
  if ([input, output, cacheRead, allWritten].every((one) => one === null) && !before) return null;
  const cachedInput = cacheRead ?? before?.cachedInput ?? 0;
  const cacheWrite = allWritten ?? before?.cacheWrite ?? 0;
  const cacheWrite1h = Math.min(hour ?? before?.cacheWrite1h ?? 0, cacheWrite);
  const { thinking_tokens: thinking } = objectOf(reported['output_tokens_details']);
  return {
    input: (input ?? (before && plainInputOf(before)) ?? 0) + cachedInput + cacheWrite,
    output: output ?? before?.output ?? 0,
    cachedInput,
    cacheWrite,
    ...(cacheWrite1h > 0 && { cacheWrite1h }),
    reasoning: countOf(thinking) ?? before?.reasoning ?? null,
  };
}

/** A usage in the messages format, with zeros for unknown counts. */
export function usageObject(usage: Usage | null): Json {
  const { output, cachedInput, cacheWrite, cacheWrite1h = 0, reasoning } = usage ?? NO_USAGE;
  const writtenForAnHour = Math.min(cacheWrite1h, cacheWrite);
  return {
    input_tokens: plainInputOf(usage ?? NO_USAGE),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cachedInput,
    ...(cacheWrite > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite - writtenForAnHour,
        ephemeral_1h_input_tokens: writtenForAnHour,
      },
    }),
    output_tokens: output,
    ...(reasoning !== null && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
