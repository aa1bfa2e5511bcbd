import { randomFillSync } from 'node:crypto';

/** Identifiers from a client or a proxy that are safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

/** Random bytes of an identifier. */
const BYTES = 12;

/** Random bytes of the next 256 identifiers, because a call for each takes longer than all else here. */
const pool = Buffer.alloc(256 * BYTES);
let used = pool.length;

/** The identifier in a header if it is safe to print, else a new one: `req_` and 24 hexadecimal digits. */
export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += BYTES;
  return `req_${pool.toString('hex', used - BYTES, used)}`;
}
