import type { FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';

const PARAM = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * The Idempotency-Key of a request, by which a repeated request is executed once; null without one.
 *
 * @throws Failure invalid_request
 */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new Failure('invalid_request', `${PARAM}: expected 1 to 255 printable ASCII characters`, {
    param: PARAM,
  });
}
