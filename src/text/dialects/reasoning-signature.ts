import { parseJson } from '../../schema/json.ts';
import type { DialectName, ReasoningProof } from '../canonical.ts';

/**
 * What marks reasoning of another dialect where a dialect has one opaque field for its own. No
 * provider's signature or ciphertext begins like this.
 */
const MARK = 'oriel:';

/** Reasoning that its provider gave in words alone: the proof says whose it is, and nothing else. */
export function bareProof(dialect: DialectName, provider: string): ReasoningProof {
  return { dialect, provider, value: {} };
}

export function isBare({ value }: ReasoningProof): boolean {
  for (const _ in value) return false;
  return true;
}

/** A proof as one opaque text that a client of any dialect keeps and sends back. */
export function seal({ dialect, provider, value }: ReasoningProof): string {
  const text = JSON.stringify([dialect, provider, value]);
  return MARK + Buffer.from(text).toString('base64url');
}

/** The proof in an opaque text that came back; null where the text is a provider's own. */
export function unseal(text: string): ReasoningProof | null {
  if (!text.startsWith(MARK)) return null;
  try {
    const parts: unknown = parseJson(Buffer.from(text.slice(MARK.length), 'base64url').toString());
    if (!Array.isArray(parts)) return null;
    const [dialect, provider, value] = parts as unknown[];
    if (dialect !== 'chat' && dialect !== 'responses' && dialect !== 'messages') return null;
    if (provider !== null && typeof provider !== 'string') return null;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return { dialect, provider, value: value as Readonly<Record<string, unknown>> };
  } catch {
    return null;
  }
}

/** Whether a text is a sealed proof, good or not: no provider may be sent one. */
export function isSealed(text: string): boolean {
  return text.startsWith(MARK);
}
