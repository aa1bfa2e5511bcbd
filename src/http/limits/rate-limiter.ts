import { Failure } from '../../failure.ts';

/** Counts of the sixty seconds before, and of the current one. */
const SLOTS = 61;

/** One key's requests of the last minute, a count for each second. */
interface Window {
  readonly counts: Uint32Array;
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
 * Limits requests by key in a sliding minute, in whole seconds: in any sixty seconds at most the limit is
 * accepted. A refused request does not count.
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
    const milliseconds = this.#now();
    const second = Math.floor(milliseconds / 1000);
    this.#sweep(second);
    const window = this.#windowOf(key, second);
    if (!counts) {
      const remaining = Math.max(0, share - window.total);
      const { total } = window;
      return { limit, remaining, reset: total && secondsUntil(window, total, milliseconds) };
    }
    if (window.total >= share) {
      const retryAfter = secondsUntil(window, window.total - share + 1, milliseconds);
      throw rateLimited({ limit, share, retryAfter });
    }
    window.counts[second % SLOTS]! += 1;
    window.total += 1;
    return {
      limit,
      remaining: share - window.total,
      // This request, the last that is counted, was now.
      reset: Math.ceil((second + SLOTS) * 1000 - milliseconds) / 1000,
    };
  }

  #windowOf(key: string, second: number): Window {
    let window = this.#windows.get(key);
    if (!window) {
      window = { counts: new Uint32Array(SLOTS), total: 0, second };
      this.#windows.set(key, window);
    }
    advance(window, second);
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

/** Removes the counts that are older than a minute. */
function advance(window: Window, second: number): void {
  const steps = Math.min(second - window.second, SLOTS);
  for (let step = 1; step <= steps; step += 1) {
    const slot = (window.second + step) % SLOTS;
    window.total -= window.counts[slot]!;
    window.counts[slot] = 0;
  }
  window.second = second;
}

/** Seconds until a number of the counted requests, oldest first, are more than a minute old. */
function secondsUntil({ counts, second }: Window, requests: number, milliseconds: number): number {
  let expired = 0;
  for (let age = SLOTS - 1; age >= 0; age -= 1) {
    expired += counts[(second - age + SLOTS) % SLOTS]!;
    // In whole milliseconds: a rounding error would give a wait of 0 s.
    if (expired >= requests) return Math.ceil((second - age + SLOTS) * 1000 - milliseconds) / 1000;
  }
  return SLOTS;
}
