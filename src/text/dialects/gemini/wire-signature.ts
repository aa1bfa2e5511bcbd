import type { ReasoningSignature } from '../../canonical/canonical.ts';
import { isWrapped, unwrapSignature, wrapSignature } from '../reasoning-signature.ts';
import { type SignedPart, signatureOf } from './reasoning.ts';

/** A wrapped signature as Base64: some clients decode and encode the bytes of `thoughtSignature`. */
export function signatureOnWire(signature: ReasoningSignature): string {
  return Buffer.from(wrapSignature(signature)).toString('base64');
}

/** The signature of a part that a client sends back; null for a wrapped one that was changed. */
export function signatureFromWire(wire: string, part: SignedPart): ReasoningSignature | null {
  if (isWrapped(wire)) return unwrapSignature(wire);
  const text = Buffer.from(wire.slice(0, 8), 'base64').toString();
  if (!isWrapped(text)) return signatureOf(wire, part, null);
  return unwrapSignature(Buffer.from(wire, 'base64').toString());
}
