/** What a fault may make fail for tenants that did nothing wrong. */
export type Reach =
  /** Everything, the connection included. */
  | 'all'
  /** Text answers: the upstream that they come from is dead. */
  | 'text'
  /** What writes: the disk is full. Answers are errors, no connection breaks. */
  | 'disk'
  /** What works on images: a process that did is dead. Its files fail, others do not. */
  | 'worker';

interface Outage {
  readonly reach: Reach;
  readonly from: number;
  to: number;
}

/** Milliseconds after a fault in which its consequences may still be seen. */
const RECOVERY = 5000;

/** When faults were injected: requests of that time are judged by what the fault allows. */
export class Outages {
  readonly #all: Outage[] = [];

  async during<Result>(reach: Reach, work: () => Promise<Result>): Promise<Result> {
    const outage: Outage = { reach, from: performance.now(), to: Infinity };
    this.#all.push(outage);
    try {
      return await work();
    } finally {
      outage.to = performance.now();
    }
  }

  /** What reaches into a time; null where nothing does. */
  reaching(from: number, to: number): ReadonlySet<Reach> {
    const found = this.#all.filter((outage) => outage.from <= to && outage.to + RECOVERY >= from);
    return new Set(found.map(({ reach }) => reach));
  }
}
