import type { EventEmitter } from 'node:events';
import type { FastifyRequest } from 'fastify';
import { codedFailure } from '../../failure.ts';
import { Sums } from '../../store/sums.ts';
import { overloaded } from '../responses/errors.ts';
import type { Pressure } from './pressure.ts';

/** Memory of a request that waits for its upstream, without its body: 23 KB measured. */
const BYTES_PER_REQUEST = 24 * 1024;

/** Memory of a file's response that the client does not read: two chunks of the file. */
export const BYTES_PER_DOWNLOAD = 512 * 1024;

/** Memory for each byte of a JSON body: its text, the parsed value, and the upstream request. */
export const BYTES_PER_BODY_BYTE = 4;

/** Bytes from which the free memory is measured anew before they are used. */
export const LARGE = 256 * 1024;

/** Memory for each byte of a body while it is parsed; the worst case is empty objects, `{},`. */
const BYTES_PER_PARSED_BYTE = 20;

/** Memory of the values that one body may have (`structureOf`). */
const MAX_BYTES_OF_VALUES = 12 * 1024 * 1024;

type Closable = EventEmitter & { readonly closed?: boolean };

/** Memory that one account may use, as a share of the free memory. */
const SHARE = 1 / 2;

/** Retry-After, in seconds, for an account that uses its whole share. */
const RETRY_AFTER = 1;

/**
 * Limits the memory that the requests of one account use by the memory that is free: an account may use
 * half as much as is free for all. One account's flood stops there, and a small request of another
 * account still finds memory (dynamic thresholds, as switches share their buffers: Choudhury and Hahne,
 * 1998).
 */
export class MemoryShares {
  readonly #pressure: Pressure;
  readonly #bytesByOwner = new Sums();

  constructor(pressure: Pressure) {
    this.#pressure = pressure;
  }

  /**
   * Reserves the memory of a request until its response has ended.
   *
   * @param owner an account, or a network for requests without one
   * @param further bytes beside those that every request uses
   * @throws Failure rate_limit if the owner uses its whole share
   */
  reserve(owner: string, further: number, response: Closable): void {
    // The client may have left while its body waited to be parsed. There will be no other event.
    if (response.closed) return;
    if (further >= LARGE) this.#pressure.measure();
    const bytes = BYTES_PER_REQUEST + further;
    const used = this.#bytesByOwner.of(owner);
    if (used + bytes > this.#pressure.freeMemory * SHARE) {
      throw codedFailure(
        'too_many_requests_in_progress',
        'memory is short and too many requests of this account or address are in progress',
        { retryAfter: RETRY_AFTER },
      );
    }
    this.#pressure.expect(bytes);
    this.#bytesByOwner.add(owner, bytes);
    response.once('close', () => this.#bytesByOwner.add(owner, -bytes));
  }

  /**
   * Whether there is memory to parse a body: its values may use far more than was reserved for it.
   * Bodies that arrive together are parsed one after the other.
   *
   * @param body its bytes
   */
  hasRoomToParse(body: number): boolean {
    const text = body * BYTES_PER_BODY_BYTE;
    if (text < LARGE) return true;
    this.#pressure.measure();
    const values = Math.min(body * BYTES_PER_PARSED_BYTE, MAX_BYTES_OF_VALUES);
    return text + values <= this.#pressure.freeMemory;
  }
}

/** Share of the budget that one account may use. */
const ACCOUNT_SHARE = 1 / 4;

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

  /**
   * @param capacity bytes of all accounts together
   * @param largest bytes of the largest body, which an account may always send
   */
  constructor(capacity: number, largest: number) {
    this.#capacity = Math.max(capacity, largest);
    this.#share = Math.max(capacity * ACCOUNT_SHARE, largest);
  }

  get bytes(): number {
    return this.#bytesByAccount.total;
  }

  /**
   * Reserves the bytes of a request's body until its response has ended.
   *
   * @throws Failure rate_limit if the account uses its share, service_error 503 if all accounts use all
   */
  reserve(accountId: string, bytes: number, response: EventEmitter): void {
    if (bytes === 0) return;
    const used = this.#bytesByAccount.of(accountId);
    if (used + bytes > this.#share) {
      throw codedFailure(
        'too_many_large_requests',
        'too many large requests of this account are in progress',
        { retryAfter: RETRY_AFTER },
      );
    }
    if (this.bytes + bytes > this.#capacity) {
      throw overloaded('too many large requests are in progress');
    }
    this.#bytesByAccount.add(accountId, bytes);
    response.once('close', () => this.#bytesByAccount.add(accountId, -bytes));
  }
}
