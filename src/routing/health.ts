import type { Config } from '../config/schema.ts';

type Cooldown = NonNullable<Config['routing']['cooldown']>;

interface Condition {
  /** In a row. */
  failures: number;
  /** When it may be tried again, on the clock; 0 while it is well. */
  restsUntil: number;
  /** Somebody is trying whether it is well again. */
  probing: boolean;
}

const WELL: Readonly<Condition> = { failures: 0, restsUntil: 0, probing: false };

/**
 * How the routes are, by what became of the requests they were given. One that keeps failing rests;
 * when its time is over one request tries it, and the others wait for what comes of that.
 */
export class RouteHealth {
  readonly #conditions = new Map<string, Condition>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until a route may be tried; 0 for now. */
  restOf(route: string): number {
    const { restsUntil, probing } = this.#conditions.get(route) ?? WELL;
    if (restsUntil === 0) return 0;
    const rest = restsUntil - this.#now();
    // Nobody knows how long a probe takes: a second is soon enough to ask again.
    return rest > 0 ? rest : probing ? 1000 : 0;
  }

  /** A request goes to the route. Tells how it went: true, false, or null where that says nothing. */
  begin(route: string, cooldown: Cooldown): (went: boolean | null) => void {
    const condition = this.#conditions.get(route);
    const probe = condition !== undefined && condition.restsUntil > 0;
    if (probe) condition.probing = true;
    let told = false;
    return (went) => {
      if (told) return;
      told = true;
      if (went === true) this.#conditions.delete(route);
      else if (went === false) this.#fail(route, cooldown, probe);
      else if (probe) this.#conditions.get(route)!.probing = false;
    };
  }

  #fail(route: string, { after, for: rest }: Cooldown, probe: boolean): void {
    const condition = this.#conditions.get(route) ?? { ...WELL };
    this.#conditions.set(route, condition);
    condition.failures += 1;
    if (probe) condition.probing = false;
    if (after > 0 && condition.failures >= after) condition.restsUntil = this.#now() + rest;
  }
}
