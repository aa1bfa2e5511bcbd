import { randomUUID } from 'node:crypto';

/** Where a client or a proxy names its request, that name serves, if it is safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  // Drawn from a store of random bytes: asking the system for twelve costs five times as much.
  return `req_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
