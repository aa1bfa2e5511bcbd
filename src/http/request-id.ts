import { randomBytes } from 'node:crypto';

/** Where a client or a proxy names its request, that name serves, if it is safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  return `req_${randomBytes(12).toString('hex')}`;
}
