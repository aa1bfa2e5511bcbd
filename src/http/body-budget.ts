import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../failure.ts';
import { overloaded } from './errors.ts';

/** The part of the budget that one account may use. */
const SHARE_OF_ONE_ACCOUNT = 1 / 4;

/** Seconds after which an account that used its share may try again. */
const RETRY_AFTER = 1;

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
   * @param largest bytes assumed where the request does not give its length
   * @throws Failure rate_limit where the account uses its share, service_error 503 where all do
   */
  reserve({ headers, holder }: FastifyRequest, { raw }: FastifyReply, largest: number): void {
    const length = headers['content-length'];
    const bytes = length === undefined ? (headers['transfer-encoding'] ? largest : 0) : +length;
    // One that is larger than a body may be is refused before it is read.
    if (bytes === 0 || bytes > largest) return;
    const accountId = holder.account.id;
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
    raw.once('close', () => this.#release(accountId, bytes));
  }

  #release(accountId: string, bytes: number): void {
    this.#bytes -= bytes;
    const rest = this.#bytesByAccount.get(accountId)! - bytes;
    if (rest === 0) this.#bytesByAccount.delete(accountId);
    else this.#bytesByAccount.set(accountId, rest);
  }
}
