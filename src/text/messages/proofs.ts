import type { Json, ReasoningPart } from '../canonical.ts';
import type { Target } from '../dialect.ts';

/**
 * Reasoning as its own provider gets it back, exactly as it gave it. Null where it is another's, or
 * nobody vouches for it: no provider takes that.
 */
export function replayed(
  { text, proof }: Pick<ReasoningPart, 'text' | 'proof'>,
  target: Target,
): Json | null {
  if (proof === null || proof.dialect !== 'messages') return null;
  if (proof.provider !== null && proof.provider !== target.provider) return null;
  const { signature, data } = proof.value;
  if (typeof signature === 'string') return { type: 'thinking', thinking: text, signature };
  return typeof data === 'string' ? { type: 'redacted_thinking', data } : null;
}
