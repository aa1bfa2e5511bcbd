/** Parts of the window: the oldest one is forgotten as a whole. */
const PARTS = 10;

/** Providers or models that are counted. */
const MAX_NAMES = 10_000;

interface Counts {
  readonly requests: number[];
  readonly failed: number[];
  /** Number of the part that was counted last. */
  part: number;
}

/** Requests and failures by name over a sliding window, in this process. */
export class ErrorCounts {
  readonly #counts = new Map<string, Counts>();
  readonly #window: () => number;
  readonly #now: () => number;

  /** @param window milliseconds, which may change */
  constructor(window: () => number, now: () => number = () => performance.now()) {
    this.#window = window;
    this.#now = now;
  }

  add(name: string, isFailed: boolean): void {
    const counts = this.#current(name) ?? this.#create(name);
    if (counts === null) return;
    const at = counts.part % PARTS;
    counts.requests[at]! += 1;
    if (isFailed) counts.failed[at]! += 1;
  }

  /** Those with a share of failures above the threshold, of enough requests. */
  *above(
    threshold: number,
    enough: number,
  ): Generator<{ readonly name: string; readonly requests: number; readonly failed: number }> {
    for (const name of this.#counts.keys()) {
      const counts = this.#current(name)!;
      const requests = sum(counts.requests);
      const failed = sum(counts.failed);
      if (requests === 0) this.#counts.delete(name);
      else if (requests >= enough && failed / requests > threshold)
        yield { name, requests, failed };
    }
  }

  /** The counts of a name, without the parts that have passed. */
  #current(name: string): Counts | undefined {
    const counts = this.#counts.get(name);
    if (!counts) return undefined;
    const part = this.#part();
    // A reload may have changed the window, and with it the numbers of parts.
    const isReset = part < counts.part;
    for (
      let passed = isReset ? PARTS : Math.min(PARTS, part - counts.part);
      passed > 0;
      passed -= 1
    ) {
      counts.requests[(part - passed + 1) % PARTS] = 0;
      counts.failed[(part - passed + 1) % PARTS] = 0;
    }
    counts.part = part;
    return counts;
  }

  #create(name: string): Counts | null {
    if (this.#counts.size >= MAX_NAMES) return null;
    const zeros = () => new Array<number>(PARTS).fill(0);
    const counts = { requests: zeros(), failed: zeros(), part: this.#part() };
    this.#counts.set(name, counts);
    return counts;
  }

  #part(): number {
    return Math.floor((this.#now() * PARTS) / this.#window());
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
