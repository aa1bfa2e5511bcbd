import { isObject } from '../../../schema/untrusted.ts';
import type {
  Json,
  ReasoningPart,
  ReasoningSignature,
  TextRequest,
} from '../../canonical/canonical.ts';
import type { Target } from '../dialect.ts';
import { wrapSignature } from '../reasoning-signature.ts';

/**
 * The reasoning block for the provider that signed it, unchanged. Null for reasoning of another
 * provider or without a signature, which providers refuse.
 */
export function replayedReasoning(
  { text, signature }: Pick<ReasoningPart, 'text' | 'signature'>,
  target: Target,
): Json | null {
  if (signature === null || signature.dialect !== 'messages') return null;
  if (signature.provider !== null && signature.provider !== target.provider) return null;
  const { signature: own, data } = signature.value;
  if (typeof own === 'string') return { type: 'thinking', thinking: text, signature: own };
  return typeof data === 'string' ? { type: 'redacted_thinking', data } : null;
}

/** The field of a thinking block that a client keeps: an Anthropic signature as it came, any other one wrapped. */
export function signatureField(signature: ReasoningSignature): string {
  const { signature: own } = signature.value;
  return signature.dialect === 'messages' && typeof own === 'string'
    ? own
    : wrapSignature(signature);
}

/** Whether the client is not shown reasoning. */
export const hidesReasoning = ({ body: { thinking } }: TextRequest) =>
  isObject(thinking) && thinking['display'] === 'omitted';

/** The signature with the text that the client is not shown and sends back. Anthropic's own has it already. */
export function signatureWith(
  hidden: string | null,
  signature: ReasoningSignature | null,
): ReasoningSignature | null {
  if (!hidden || signature?.value['signature']) return signature;
  const value = { ...signature?.value, hidden };
  return { dialect: 'messages', provider: null, ...signature, value };
}

/** The data of redacted reasoning; null for any other signature. */
export function redactedOf(signature: ReasoningSignature | null): string | null {
  const data = signature?.dialect === 'messages' ? signature.value['data'] : null;
  return typeof data === 'string' ? data : null;
}
