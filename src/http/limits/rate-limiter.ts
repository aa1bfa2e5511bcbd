import { Failure } from '../../failure.ts';

/**
 * Milliseconds for which a request counts: a minute, less what timers and networks vary by. A client that sends its
 * limit evenly spread over each minute is never refused.
 */
export const WINDOW_MS = 59_750;

/** Counts of the sixty seconds before, and of the current one. */
const SLOTS = 61;

/** One key's requests of the last minute, a count for each second. */
interface Window {
  readonly counts: Uint32Array;
  /** Times of the first request of each second, in milliseconds. */
  readonly firsts: Float64Array;
  total: number;
  /** The second of the last update of `counts`. */
  second: number;
}

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
  return new Failure('rate_limit', `this key may send ${limit} requests in a minute${part}`, {
    code: 'rate_limit_exceeded',
    retryAfter,
  });
}

/**
 * Limits requests by key in a sliding minute. The requests of a second count as long as the first of them: in any
 * `WINDOW_MS` less a second at most the limit is accepted. A refused request does not count.
 */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();
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
    const milliseconds = Math.floor(this.#now());
    const second = Math.floor(milliseconds / 1000);
    this.#sweep(second);
    const window = this.#windowOf(key, milliseconds);
    if (!counts) {
      const remaining = Math.max(0, share - window.total);
      const { total } = window;
      return { limit, remaining, reset: total && secondsUntil(window, total, milliseconds) };
    }
    if (window.total >= share) {
      const retryAfter = secondsUntil(window, window.total - share + 1, milliseconds);
      throw rateLimited({ limit, share, retryAfter });
    }
    const slot = second % SLOTS;
    if (window.counts[slot] === 0) window.firsts[slot] = milliseconds;
    window.counts[slot]! += 1;
    window.total += 1;
    const reset = (window.firsts[slot]! + WINDOW_MS - milliseconds) / 1000;
    return { limit, remaining: share - window.total, reset };
  }

  #windowOf(key: string, milliseconds: number): Window {
    let window = this.#windows.get(key);
    if (!window) {
      const second = Math.floor(milliseconds / 1000);
      const counts = new Uint32Array(SLOTS);
      window = { counts, firsts: new Float64Array(SLOTS), total: 0, second };
      this.#windows.set(key, window);
    }
    advance(window, milliseconds);
    return window;
  }

  /** Deletes keys without requests for a minute, once a minute. */
  #sweep(second: number): void {
    if (second - this.#swept < SLOTS) return;
    this.#swept = second;
    for (const [key, window] of this.#windows) {
      if (second - window.second >= SLOTS) this.#windows.delete(key);
    }
  }
}

/** Removes the counts of seconds whose first request counts no longer. */
function advance(window: Window, milliseconds: number): void {
  const { counts, firsts } = window;
  const second = Math.floor(milliseconds / 1000);
  const remove = (slot: number) => {
    window.total -= counts[slot]!;
    counts[slot] = 0;
  };
  const steps = Math.min(second - window.second, SLOTS);
  for (let step = 1; step <= steps; step += 1) remove((window.second + step) % SLOTS);
  window.second = second;
  // The two oldest seconds, whose requests are up to a minute old.
  for (const slot of [(second + 1) % SLOTS, (second + 2) % SLOTS]) {
    if (firsts[slot]! + WINDOW_MS <= milliseconds) remove(slot);
  }
}

/** Seconds until a number of the counted requests, oldest first, count no longer. */
function secondsUntil(
  { counts, firsts, second }: Window,
  requests: number,
  milliseconds: number,
): number {
  let expired = 0;
  for (let age = SLOTS - 1; age >= 0; age -= 1) {
    const slot = (second - age + SLOTS) % SLOTS;
    expired += counts[slot]!;
    if (expired >= requests) return (firsts[slot]! + WINDOW_MS - milliseconds) / 1000;
  }
  return WINDOW_MS / 1000;
}
