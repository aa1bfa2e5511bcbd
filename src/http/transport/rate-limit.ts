import { Failure } from '../../failure.ts';

/** The sixty seconds before, and the one that runs. */
const SLOTS = 61;

/** One key's requests of the last minute, a count for each second. */
interface Window {
  readonly counts: Uint32Array;
  total: number;
  /** The second that `counts` was last brought up to. */
  second: number;
}

/** What a client is told of its limit, in the headers of every answer. */
export interface RateLimitState {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until all of the limit is there again. */
  readonly reset: number;
}

/**
 * Counts requests by key over a sliding minute, in whole seconds: in any sixty seconds no more than
 * the limit are let through. A request that is refused does not count.
 */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;
  #swept = 0;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts one request.
   *
   * @param limit requests in a minute
   * @param counts false for a request that is let through whatever was counted
   * @throws Failure rate_limit that says when the next request will be let through
   */
  take(key: string, limit: number, counts = true): RateLimitState {
    const milliseconds = this.#now();
    const second = Math.floor(milliseconds / 1000);
    this.#sweep(second);
    const window = this.#windowOf(key, second);
    if (!counts) {
      const remaining = Math.max(0, limit - window.total);
      const { total } = window;
      return { limit, remaining, reset: total && secondsUntil(window, total, milliseconds) };
    }
    if (window.total >= limit) {
      throw new Failure('rate_limit', `this key may send ${limit} requests in a minute`, {
        code: 'rate_limit_exceeded',
        retryAfter: secondsUntil(window, window.total - limit + 1, milliseconds),
      });
    }
    window.counts[second % SLOTS]! += 1;
    window.total += 1;
    return {
      limit,
      remaining: limit - window.total,
      // The last that is counted, this one, was now.
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

  /** Forgets keys that were silent for a minute, once a minute. */
  #sweep(second: number): void {
    if (second - this.#swept < SLOTS) return;
    this.#swept = second;
    for (const [key, window] of this.#windows) {
      if (second - window.second >= SLOTS) this.#windows.delete(key);
    }
  }
}

/** Clears the seconds that have passed out of the minute. */
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
  let gone = 0;
  for (let age = SLOTS - 1; age >= 0; age -= 1) {
    gone += counts[(second - age + SLOTS) % SLOTS]!;
    // In whole milliseconds: a residue of rounding would ask for a wait of nothing.
    if (gone >= requests) return Math.ceil((second - age + SLOTS) * 1000 - milliseconds) / 1000;
  }
  return SLOTS;
}
