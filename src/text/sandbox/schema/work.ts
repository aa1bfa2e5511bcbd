import { Unmakeable } from './unmakeable.ts';

/** Steps of one answer. A step takes 0.1 to 0.2 µs, so that the slowest schema takes some 50 ms. */
const STEPS = 300_000;

/**
 * Bounds the work on schemas from outside. Each loop over something that a client sent spends a step
 * for each element, so that no combination of keywords can take longer.
 */
export class Work {
  #left: number;

  constructor(steps: number = STEPS) {
    this.#left = steps;
  }

  /** @throws Unmakeable where no steps are left */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new Unmakeable('it is too large for the sandbox', true);
  }

  /** Does something with a part of the steps that are left. What it does not use is left for others. */
  share<Result>(part: number, action: (work: Work) => Result): Result {
    const granted = Math.max(0, Math.floor(this.#left * part));
    const work = new Work(granted);
    try {
      return action(work);
    } finally {
      this.#left -= granted - Math.max(0, work.#left);
    }
  }
}
