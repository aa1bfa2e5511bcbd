import { createHash } from 'node:crypto';

/** What Anthropic takes for the identifier of a call, as long as OpenAI takes it. */
const TAKEN = /^[A-Za-z0-9_-]{1,64}$/;
const MARK = 'oriel_';

/**
 * The identifier of a tool call as every provider and every client takes it. What is short enough can
 * be read back; the rest is a hash, the same for a call and for its result.
 */
export function callIdOnWire(id: string): string {
  if (TAKEN.test(id)) return id;
  const encoded = MARK + Buffer.from(id).toString('base64url');
  if (encoded.length <= 64) return encoded;
  return `${MARK}.${createHash('sha256').update(id).digest('base64url')}`.replace('.', 'h_');
}

/** The identifier that was made fit for the wire. */
export function callIdFromWire(wire: string): string {
  if (!wire.startsWith(MARK) || wire.startsWith(`${MARK}h_`)) return wire;
  const id = Buffer.from(wire.slice(MARK.length), 'base64url').toString();
  return callIdOnWire(id) === wire ? id : wire;
}
