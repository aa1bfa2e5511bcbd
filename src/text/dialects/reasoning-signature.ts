import { parseJson } from '../../schema/json.ts';
import type { DialectName, ReasoningSignature } from '../canonical/canonical.ts';
import { hasDialect } from './registry.ts';

/**
 * Begins a wrapped signature in the opaque field that a dialect has for its own. No provider's
 * signature or ciphertext begins like this.
 */
const MARK = 'oriel:';

/** Cost of the values of one signature (`structureFault`), of which a request may have many. */
const MAX_COST = 1000;

/** The signature of reasoning that its provider did not sign: it names the provider, and nothing else. */
export function bareSignature(dialect: DialectName, provider: string): ReasoningSignature {
  return { dialect, provider, value: {} };
}

export function isBare({ value }: ReasoningSignature): boolean {
  for (const _ in value) return false;
  return true;
}

/** Wraps a signature in one opaque text that a client of any dialect keeps and sends back. */
export function wrapSignature({ dialect, provider, value }: ReasoningSignature): string {
  const text = JSON.stringify([dialect, provider, value]);
  return MARK + Buffer.from(text).toString('base64url');
}

/** Unwraps the signature from a text that a client sent back; null for a provider's own text. */
export function unwrapSignature(text: string): ReasoningSignature | null {
  if (!text.startsWith(MARK)) return null;
  try {
    const json = Buffer.from(text.slice(MARK.length), 'base64url').toString();
    const parts: unknown = parseJson(json, MAX_COST);
    if (!Array.isArray(parts)) return null;
    const [dialect, provider, value] = parts as unknown[];
    if (typeof dialect !== 'string' || !hasDialect(dialect)) return null;
    if (provider !== null && typeof provider !== 'string') return null;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return { dialect, provider, value: value as Readonly<Record<string, unknown>> };
  } catch {
    return null;
  }
}

/** Whether a text is a wrapped signature, valid or not: no provider may be sent one. */
export const isWrapped = (text: string): boolean => text.startsWith(MARK);
