import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { Sums } from '../../store/sums.ts';
import { overloaded } from '../responses/errors.ts';

/** Share of the budget that one account may use. */
const ACCOUNT_SHARE = 1 / 4;

/** Retry-After, in seconds, for an account that uses its whole share. */
const RETRY_AFTER = 1;

/**
 * Bytes of a request's body: `largest` for a chunked body, 0 for a larger body, which is refused before
 * it is read.
 */
export function bodyBytes({ headers }: FastifyRequest, largest: number): number {
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : largest;
  return Number(length) > largest ? 0 : Number(length);
}

/**
 * Limits the bytes of JSON bodies in memory: a body stays there until its response has ended, however
 * long an upstream takes.
 */
export class BodyBudget {
  readonly #capacity: number;
  readonly #share: number;
  readonly #bytesByAccount = new Sums();
  #bytes = 0;

  /**
   * @param capacity bytes of all accounts together
   * @param largest bytes of the largest body, which an account may always send
   */
  constructor(capacity: number, largest: number) {
    this.#capacity = Math.max(capacity, largest);
    this.#share = Math.max(capacity * ACCOUNT_SHARE, largest);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Reserves the bytes of a request's body until its response has ended.
   *
   * @throws Failure rate_limit if the account uses its share, service_error 503 if all accounts use all
   */
  reserve(accountId: string, bytes: number, response: ServerResponse): void {
    if (bytes === 0) return;
    const used = this.#bytesByAccount.of(accountId);
    if (used + bytes > this.#share) {
      throw new Failure('rate_limit', 'too many large requests of this account are in progress', {
        code: 'too_many_large_requests',
        retryAfter: RETRY_AFTER,
      });
    }
    if (this.#bytes + bytes > this.#capacity) {
      throw overloaded('too many large requests are in progress');
    }
    this.#bytes += bytes;
    this.#bytesByAccount.add(accountId, bytes);
    response.once('close', () => {
      this.#bytes -= bytes;
      this.#bytesByAccount.add(accountId, -bytes);
    });
  }
}
