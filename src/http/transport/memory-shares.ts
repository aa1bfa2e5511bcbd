import type { ServerResponse } from 'node:http';
import { Failure } from '../../failure.ts';
import type { Pressure } from './pressure.ts';

/** Memory of a request that waits for its upstream, without its body: 23 KB were measured. */
const BYTES_PER_REQUEST = 24 * 1024;

/** Memory of a file's response that its client does not read: two pieces of the file. */
export const BYTES_PER_DOWNLOAD = 512 * 1024;

/** Memory for each byte of a JSON body: its text, what is parsed of it, and what goes upstream. */
export const BYTES_PER_BODY_BYTE = 4;

/** Bytes of memory before whose use the free memory is measured, rather than ten times a second. */
const LARGE = 256 * 1024;

/** Memory of a body while it is parsed, for each byte: lists and objects without members, `{},`. */
const BYTES_PER_PARSED_BYTE = 20;

/** The most that the values of one body use, of which there may be 200,000 (`structureFault`). */
const MAX_BYTES_OF_VALUES = 12 * 1024 * 1024;

/** Part of the free memory that one account may have in use. */
const SHARE = 1 / 2;

/** Seconds after which an account that used its share may try again. */
const RETRY_AFTER = 1;

/**
 * Bounds the memory that the requests of one account use by the memory that is free: an account may
 * have half as much in use as is left for all. A flood of one account stops there, so that a small
 * request of another account always finds room (dynamic thresholds, as switches share their buffers:
 * Choudhury and Hahne, 1998).
 */
export class MemoryShares {
  readonly #pressure: Pressure;
  readonly #bytesByOwner = new Map<string, number>();

  constructor(pressure: Pressure) {
    this.#pressure = pressure;
  }

  /**
   * Reserves the memory of a request until its response has ended.
   *
   * @param owner an account, or an address where there is none
   * @param further bytes used beside what every request uses
   * @throws Failure rate_limit where the owner has used its share
   */
  reserve(owner: string, further: number, response: ServerResponse): void {
    if (further >= LARGE) this.#pressure.measure();
    const bytes = BYTES_PER_REQUEST + further;
    const used = this.#bytesByOwner.get(owner) ?? 0;
    if (used + bytes > this.#pressure.freeMemory * SHARE) {
      throw new Failure(
        'rate_limit',
        'memory is short and too many requests of this account or address are in progress',
        { code: 'too_many_requests_in_progress', retryAfter: RETRY_AFTER },
      );
    }
    this.#pressure.expect(bytes);
    this.#bytesByOwner.set(owner, used + bytes);
    response.once('close', () => {
      const rest = this.#bytesByOwner.get(owner)! - bytes;
      if (rest === 0) this.#bytesByOwner.delete(owner);
      else this.#bytesByOwner.set(owner, rest);
    });
  }

  /**
   * Whether there is memory to parse a body: in the worst case its values use far more than was
   * reserved for it. Bodies that arrived together are parsed one after the other.
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
