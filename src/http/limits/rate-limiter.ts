import { codedFailure, type Failure } from '../../failure.ts';
import { getOrInsert } from '../../maps.ts';
import { SLOTS, SlidingMinute } from './sliding-minute.ts';

/** The state of a client's limit, for the headers of its responses. */
export interface RateLimitState {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the whole limit is available again. */
  readonly reset: number;
}

/** @param retryAfter seconds */
export function rateLimited({
  limit,
  share = limit,
  retryAfter,
}: {
  readonly limit: number;
  readonly share?: number;
  readonly retryAfter: number;
}): Failure {
  const part = share === limit ? '' : `, ${share} of them to this node`;
  return codedFailure(
    'rate_limit_exceeded',
    `this key may send ${limit} requests in a minute${part}`,
    { retryAfter },
  );
}

/**
 * Limits requests by key in a sliding minute: in any `WINDOW_MS` less a second at most the limit is accepted. A refused
 * request does not count.
 */
export class RateLimiter {
  readonly #minutes = new Map<string, SlidingMinute>();
  readonly #now: () => number;
  #swept = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts one request.
   *
   * @param limit requests in a minute
   * @param counts false for a request that is accepted without being counted
   * @param share requests of the limit that this limiter accepts; others accept the rest
   * @throws Failure rate_limit with the time until the next request is accepted
   */
  take(key: string, limit: number, counts = true, share = limit): RateLimitState {
    const now = Math.floor(this.#now());
    this.#sweep(Math.floor(now / 1000));
    const minute = getOrInsert(this.#minutes, key, () => new SlidingMinute(now));
    const total = minute.totalAt(now);
    if (!counts) {
      const remaining = Math.max(0, share - total);
      return { limit, remaining, reset: total && minute.secondsUntil(total, now) };
    }
    if (total >= share) {
      const retryAfter = minute.secondsUntil(total - share + 1, now);
      throw rateLimited({ limit, share, retryAfter });
    }
    const reset = minute.add(1, now);
    return { limit, remaining: share - total - 1, reset };
  }

  /** Deletes keys without requests for a minute, once a minute. */
  #sweep(second: number): void {
    if (second - this.#swept < SLOTS) return;
    this.#swept = second;
    for (const [key, minute] of this.#minutes) {
      if (second - minute.second >= SLOTS) this.#minutes.delete(key);
    }
  }
}
