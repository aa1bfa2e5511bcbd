import { createHash } from 'node:crypto';

/** Identifiers of calls that both Anthropic and OpenAI accept. */
const TAKEN = /^[A-Za-z0-9_-]{1,64}$/;
const MARK = 'oriel_';

/**
 * Encodes the identifier of a tool call so that every provider and every client accepts it. A short one
 * can be decoded; a long one becomes a hash, the same for a call and for its result.
 */
export function callIdOnWire(id: string): string {
  if (TAKEN.test(id)) return id;
  const encoded = MARK + Buffer.from(id).toString('base64url');
  if (encoded.length <= 64) return encoded;
  return `${MARK}.${createHash('sha256').update(id).digest('base64url')}`.replace('.', 'h_');
}

/** Decodes an identifier that was encoded for the wire. */
export function callIdFromWire(wire: string): string {
  if (!wire.startsWith(MARK) || wire.startsWith(`${MARK}h_`)) return wire;
  const id = Buffer.from(wire.slice(MARK.length), 'base64url').toString();
  return callIdOnWire(id) === wire ? id : wire;
}
