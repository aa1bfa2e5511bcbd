import { countOf, isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { NO_USAGE, type Usage } from '../../canonical/events.ts';

/** The usage of the whole answer so far; null if not reported. */
export function usageOf(reported: unknown): Usage | null {
  if (!isObject(reported)) return null;
  const prompt = countOf(reported['promptTokenCount']);
  const candidates = countOf(reported['candidatesTokenCount']);
  const thoughts = countOf(reported['thoughtsTokenCount']);
  if (prompt === null && candidates === null && thoughts === null) return null;
  return {
    // The prompt includes cached tokens, but not the results of tools that Google runs.
    input: (prompt ?? 0) + (countOf(reported['toolUsePromptTokenCount']) ?? 0),
    output: (candidates ?? 0) + (thoughts ?? 0),
    cachedInput: countOf(reported['cachedContentTokenCount']) ?? 0,
    cacheWrite: 0,
    reasoning: thoughts,
  };
}

/** A usage in the format of gemini. */
export function usageMetadata(usage: Usage | null): Json {
  const { input, output, cachedInput, reasoning } = usage ?? NO_USAGE;
  // Some providers report more reasoning than output.
  const thoughts = Math.min(reasoning ?? 0, output);
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - thoughts,
    totalTokenCount: input + output,
    ...(cachedInput > 0 && { cachedContentTokenCount: cachedInput }),
    ...(reasoning !== null && { thoughtsTokenCount: thoughts }),
  };
}
