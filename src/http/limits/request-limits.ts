import { type Nodes, shareOf } from '../../store/nodes.ts';
import { InvalidKeyLimit } from '../transport/addresses.ts';
import { RateLimiter, type RateLimitState } from './rate-limiter.ts';

/** Limits of requests that hold for all nodes together. */
export interface RequestLimits {
  /** Why the limits are divided among the nodes although `limits.shared` is set; null otherwise. */
  readonly fault: string | null;
  /**
   * Counts one request of a key.
   *
   * @param limit requests in a minute
   * @param counts false for a request that is accepted without being counted
   * @throws Failure rate_limit with the time until the next request is accepted
   */
  take(key: string, limit: number, counts: boolean): RateLimitState | Promise<RateLimitState>;
  /**
   * Counts one invalid API key of an address.
   *
   * @param limit invalid keys in a minute
   * @throws Failure rate_limit if the network of the address sent more
   */
  countInvalidKey(address: string, limit: number): void | Promise<void>;
}

/** Limits that are divided among the living nodes, each of which counts its own requests. */
export class DividedLimits implements RequestLimits {
  readonly fault = null;
  readonly #nodes: Nodes;
  readonly #requests: RateLimiter;
  readonly #invalidKeys = new InvalidKeyLimit();

  /** @param now milliseconds of a monotonic clock */
  constructor(nodes: Nodes, now?: () => number) {
    this.#nodes = nodes;
    this.#requests = new RateLimiter(now);
  }

  take(key: string, limit: number, counts: boolean): RateLimitState {
    return this.#requests.take(key, limit, counts, shareOf(limit, this.#nodes));
  }

  countInvalidKey(address: string, limit: number): void {
    this.#invalidKeys.count(address, shareOf(limit, this.#nodes));
  }

  /** Counts a request that was accepted elsewhere, as part of this node's share. */
  addAccepted(key: string): void {
    this.#requests.take(key, Number.POSITIVE_INFINITY);
  }

  /** Counts an invalid key that was counted elsewhere. */
  addInvalidKey(address: string): void {
    this.#invalidKeys.count(address, Number.POSITIVE_INFINITY);
  }
}
