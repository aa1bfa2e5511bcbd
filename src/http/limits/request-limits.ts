import { type Nodes, shareOf } from '../../store/nodes.ts';
import { InvalidKeyLimit, networkOf, tooManyInvalidKeys } from '../transport/addresses.ts';
import { DividedLoads, type LoadLimits } from './load-limits.ts';
import { RateLimiter, type RateLimitState, rateLimited } from './rate-limiter.ts';
import { COUNT_INVALID_KEY, TAKE } from './redis-script.ts';
import { type RedisScripts, redisNameOf } from './redis-scripts.ts';
import { SharedLoads } from './shared-loads.ts';

/** Limits of requests that hold for all nodes together. */
export interface RequestLimits {
  /** Why the limits are divided among the nodes although `limits.shared` is set; null otherwise. */
  readonly fault: string | null;
  /** Tokens in a minute and requests at once. */
  readonly loads: LoadLimits;
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
  readonly loads: DividedLoads;

  /** @param now milliseconds of a monotonic clock */
  constructor(nodes: Nodes, now?: () => number) {
    this.loads = new DividedLoads(nodes, now);
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

type SharedRedis = Pick<RedisScripts, 'run' | 'isAvailable' | 'connections'>;

/**
 * Limits that Redis counts for all nodes. While it does not answer, each node has its share, of which the
 * requests that it accepted before are a part.
 */
export class SharedLimits implements RequestLimits {
  readonly loads: LoadLimits;
  readonly #redis: SharedRedis;
  readonly #divided: DividedLimits;
  readonly #now: (() => number) | undefined;

  /** @param now milliseconds of a clock that all nodes share, in place of that of Redis */
  constructor(redis: SharedRedis, divided: DividedLimits, now?: () => number) {
    this.loads = new SharedLoads(redis, divided.loads, now);
    this.#redis = redis;
    this.#divided = divided;
    this.#now = now;
  }

  get fault(): string | null {
    if (this.#redis.isAvailable) return null;
    return 'the Redis of limits.shared does not answer; rate limits are divided among the nodes';
  }

  async take(key: string, limit: number, counts: boolean): Promise<RateLimitState> {
    const clock = this.#now === undefined ? '' : Math.floor(this.#now() * 1000);
    const args = [limit, counts ? 1 : 0, clock];
    const reply = await this.#redis.run(TAKE, redisNameOf('key', key), args);
    if (reply === null) return this.#divided.take(key, limit, counts);
    const [accepted, remaining, milliseconds] = reply as [number, number, number];
    if (accepted === 0) throw rateLimited({ limit, retryAfter: milliseconds / 1000 });
    if (counts) this.#divided.addAccepted(key);
    return { limit, remaining, reset: milliseconds / 1000 };
  }

  async countInvalidKey(address: string, limit: number): Promise<void> {
    const name = redisNameOf('network', networkOf(address));
    const reply = await this.#redis.run(COUNT_INVALID_KEY, name, [limit]);
    if (reply === null) {
      this.#divided.countInvalidKey(address, limit);
      return;
    }
    const [accepted, milliseconds] = reply as [number, number];
    if (accepted === 0) throw tooManyInvalidKeys(milliseconds / 1000);
    this.#divided.addInvalidKey(address);
  }
}
