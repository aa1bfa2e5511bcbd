import type { Json, ReasoningPart, ReasoningProof } from '../../canonical.ts';
import type { Target } from '../dialect.ts';
import { seal } from '../reasoning-signature.ts';

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

/** The field of a thinking block that a client keeps: a provider's own signature, or a sealed proof. */
export function signatureOf(proof: ReasoningProof): string {
  const { signature } = proof.value;
  return proof.dialect === 'messages' && typeof signature === 'string' ? signature : seal(proof);
}

/** What Anthropic hid of its reasoning; null for any other proof. */
export function redactedOf(proof: ReasoningProof | null): string | null {
  const data = proof?.dialect === 'messages' ? proof.value['data'] : null;
  return typeof data === 'string' ? data : null;
}
