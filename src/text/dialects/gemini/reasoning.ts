import { isObject, nonEmptyTextOf } from '../../../schema/untrusted.ts';
import type { Json, ReasoningSignature } from '../../canonical/canonical.ts';
import type { Target } from '../dialect.ts';
import { isWrapped, unwrapSignature, wrapSignature } from '../reasoning-signature.ts';
import { isGemini3 } from './model-names.ts';

/** The kind of the part that held a signature, which must have it again. */
export type SignedPart = 'call' | 'text' | 'thought';

/**
 * Google's value in place of a signature that a call does not have, since another provider or the client
 * wrote it: Gemini 3 refuses the first call of a step without one.
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** The parts of an answer, of which the first call has a signature where the model requires one. */
export function signedCalls(parts: readonly Json[], { model }: Target): readonly Json[] {
  const first = parts.findIndex(({ functionCall }) => isObject(functionCall));
  if (first === -1 || parts[first]!['thoughtSignature'] || !isGemini3(model)) return parts;
  return parts.with(first, { ...parts[first], thoughtSignature: NO_SIGNATURE });
}

/** The signature of a part, as the reasoning that other dialects carry. */
export function signatureOf(
  thoughtSignature: string,
  part: SignedPart,
  provider: string | null,
): ReasoningSignature {
  return { dialect: 'gemini', provider, value: { thoughtSignature, part } };
}

/** Whether the target wrote reasoning, or a client that speaks its dialect sends it unwrapped. */
export function isOwn(
  signature: ReasoningSignature | null,
  { provider }: Target,
): signature is ReasoningSignature {
  if (signature?.dialect !== 'gemini') return false;
  return signature.provider === null || signature.provider === provider;
}

/** The signature and the part that it belongs to; null for reasoning without one. Clients may have changed it. */
export function signedPartOf({ value }: ReasoningSignature): {
  readonly thoughtSignature: string;
  readonly part: SignedPart;
} | null {
  const thoughtSignature = nonEmptyTextOf(value['thoughtSignature']);
  const { part } = value;
  if (thoughtSignature === null) return null;
  return { thoughtSignature, part: part === 'call' || part === 'text' ? part : 'thought' };
}

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
