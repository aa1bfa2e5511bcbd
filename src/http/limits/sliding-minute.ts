/**
 * Milliseconds for which a request counts: a minute, less what timers and networks vary by. A client that sends its
 * limit evenly spread over each minute is never refused.
 */
export const WINDOW_MS = 59_750;

/** Counts of the sixty seconds before, and of the current one. */
export const SLOTS = 61;

/**
 * Sums of the last minute, one for each second. All that is added in a second counts as long as the first of it: in any
 * `WINDOW_MS` less a second the sum is exact.
 */
export class SlidingMinute {
  readonly #sums = new Float64Array(SLOTS);
  /** Times of the first addition of each second, in milliseconds. */
  readonly #firsts = new Float64Array(SLOTS);
  #total = 0;
  /** The second of the last update. */
  second: number;

  /** @param milliseconds of a monotonic clock, as in all methods */
  constructor(milliseconds: number) {
    this.second = Math.floor(milliseconds / 1000);
  }

  /** The sum of what counts now. */
  totalAt(milliseconds: number): number {
    const second = Math.floor(milliseconds / 1000);
    const steps = Math.min(second - this.second, SLOTS);
    for (let step = 1; step <= steps; step += 1) this.#remove((this.second + step) % SLOTS);
    this.second = second;
    // The two oldest seconds, whose additions are up to a minute old.
    for (const slot of [(second + 1) % SLOTS, (second + 2) % SLOTS]) {
      if (this.#firsts[slot]! + WINDOW_MS <= milliseconds) this.#remove(slot);
    }
    return this.#total;
  }

  /** Adds an amount. @returns the seconds for which it counts */
  add(amount: number, milliseconds: number): number {
    this.totalAt(milliseconds);
    const slot = this.second % SLOTS;
    if (this.#sums[slot] === 0) this.#firsts[slot] = milliseconds;
    this.#sums[slot]! += amount;
    this.#total += amount;
    return (this.#firsts[slot]! + WINDOW_MS - milliseconds) / 1000;
  }

  /** Seconds until an amount of the present sum, oldest first, counts no longer. */
  secondsUntil(amount: number, milliseconds: number): number {
    let expired = 0;
    for (let age = SLOTS - 1; age >= 0; age -= 1) {
      const slot = (this.second - age + SLOTS) % SLOTS;
      expired += this.#sums[slot]!;
      if (expired >= amount) return (this.#firsts[slot]! + WINDOW_MS - milliseconds) / 1000;
    }
    return WINDOW_MS / 1000;
  }

  #remove(slot: number): void {
    this.#total -= this.#sums[slot]!;
    this.#sums[slot] = 0;
  }
}
