/** Requests of good tenants that may fail during a fault. */
export type FaultScope =
  /** All requests, including their connections. */
  | 'all'
  /** Text responses: their upstream is dead. */
  | 'text'
  /** Requests that write: the disk is full. They get errors, no connection breaks. */
  | 'disk'
  /** Image work: one of its processes is dead. Its files fail, others do not. */
  | 'worker';

interface Outage {
  readonly scope: FaultScope;
  readonly from: number;
  to: number;
}

/** Milliseconds after a fault in which requests may still fail. */
const RECOVERY = 5000;

/** Times of the injected faults, which excuse failed requests of those times. */
export class Outages {
  readonly #all: Outage[] = [];

  async during<Result>(scope: FaultScope, work: () => Promise<Result>): Promise<Result> {
    const outage: Outage = { scope, from: performance.now(), to: Infinity };
    this.#all.push(outage);
    try {
      return await work();
    } finally {
      outage.to = performance.now();
    }
  }

  /** Scopes of the faults that overlap a time span; empty without faults. */
  scopesBetween(from: number, to: number): ReadonlySet<FaultScope> {
    const found = this.#all.filter((outage) => outage.from <= to && outage.to + RECOVERY >= from);
    return new Set(found.map(({ scope }) => scope));
  }
}
