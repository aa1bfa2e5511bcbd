import { randomFillSync } from 'node:crypto';

/** Where a client or a proxy names its request, that name serves, if it is safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

/** Random bytes of one identifier. */
const BYTES = 12;

/** Bytes drawn ahead: asking the system for twelve costs five times as much as all the rest. */
const drawn = Buffer.alloc(BYTES * 256);
let used = drawn.length;

export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += BYTES;
  return `req_${drawn.toString('hex', used - BYTES, used)}`;
}
