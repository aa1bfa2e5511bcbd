import { randomFillSync } from 'node:crypto';

/** Identifiers from a client or a proxy that are safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

/** Random bytes of one identifier. */
const BYTES = 12;

/** Random bytes generated ahead: twelve bytes at a time take five times as long as all the rest. */
const random = Buffer.alloc(BYTES * 256);
let used = random.length;

/** The identifier in a header if it is safe to print, else a new one. */
export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += BYTES;
  return `req_${random.toString('hex', used - BYTES, used)}`;
}
