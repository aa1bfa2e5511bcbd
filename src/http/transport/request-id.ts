import { randomUUID } from 'node:crypto';

/** Identifiers from a client or a proxy that are safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

/** The identifier in a header if it is safe to print, else a new one: `req_` and 24 hexadecimal digits. */
export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  // Without the digits that are the same in every UUID.
  const uuid = randomUUID();
  return `req_${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(24)}`;
}
