import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { overloaded } from '../errors.ts';

/** The part of the budget that one account may use. */
const SHARE_OF_ONE_ACCOUNT = 1 / 4;

/** Seconds after which an account that used its share may try again. */
const RETRY_AFTER = 1;

/**
 * Bytes of a request's body: `largest` where the request does not say, 0 where the body is larger and
 * will be refused before it is read.
 */
export function bodyBytes({ headers }: FastifyRequest, largest: number): number {
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : largest;
  return Number(length) > largest ? 0 : Number(length);
}

/**
 * Bounds the bytes of JSON bodies that are in memory: a body stays there until its request has been
 * answered, however long an upstream takes.
 */
export class BodyBudget {
  readonly #capacity: number;
  readonly #share: number;
  readonly #bytesByAccount = new Map<string, number>();
  #bytes = 0;

  /**
   * @param capacity bytes of all accounts together
   * @param largest bytes of one body, which one account may always send
   */
  constructor(capacity: number, largest: number) {
    this.#capacity = Math.max(capacity, largest);
    this.#share = Math.max(capacity * SHARE_OF_ONE_ACCOUNT, largest);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Reserves the bytes of a request's body until its response has ended.
   *
   * @throws Failure rate_limit where the account uses its share, service_error 503 where all do
   */
  reserve(accountId: string, bytes: number, response: ServerResponse): void {
    if (bytes === 0) return;
    const used = this.#bytesByAccount.get(accountId) ?? 0;
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
    this.#bytesByAccount.set(accountId, used + bytes);
    response.once('close', () => this.#release(accountId, bytes));
  }

  #release(accountId: string, bytes: number): void {
    this.#bytes -= bytes;
    const rest = this.#bytesByAccount.get(accountId)! - bytes;
    if (rest === 0) this.#bytesByAccount.delete(accountId);
    else this.#bytesByAccount.set(accountId, rest);
  }
}
