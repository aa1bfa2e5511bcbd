import type { Config } from '../config/schema.ts';

type Cooldown = NonNullable<Config['routing']['cooldown']>;

interface Circuit {
  /** Consecutive failures. */
  failures: number;
  /** Time until which the circuit is open; 0 while it is closed. */
  openUntil: number;
  /** Whether a request is probing the route while the circuit is half-open. */
  probing: boolean;
}

const CLOSED: Readonly<Circuit> = { failures: 0, openUntil: 0, probing: false };

/** Milliseconds after which requests ask again while a probe of unknown duration is under way. */
const PROBE_RECHECK_MS = 1000;

/**
 * A circuit breaker for each route. A route whose requests keep failing is not used for the cooldown;
 * then one request probes it while the others wait for the result.
 */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until a route may be tried; 0 for now. */
  remainingCooldown(route: string): number {
    const { openUntil, probing } = this.#circuits.get(route) ?? CLOSED;
    if (openUntil === 0) return 0;
    const remaining = openUntil - this.#now();
    return remaining > 0 ? remaining : probing ? PROBE_RECHECK_MS : 0;
  }

  /**
   * Registers an attempt at a route.
   *
   * @returns a function that reports its result: success, failure, or null where it says nothing of
   *   the route; only the first call counts
   */
  begin(route: string, cooldown: Cooldown): (succeeded: boolean | null) => void {
    const circuit = this.#circuits.get(route);
    const isProbe = circuit !== undefined && circuit.openUntil > 0;
    if (isProbe) circuit.probing = true;
    let reported = false;
    return (succeeded) => {
      if (reported) return;
      reported = true;
      if (succeeded === true) this.#circuits.delete(route);
      else if (succeeded === false) this.#fail(route, cooldown, isProbe);
      else if (isProbe) this.#circuits.get(route)!.probing = false;
    };
  }

  #fail(route: string, { after, for: duration }: Cooldown, isProbe: boolean): void {
    const circuit = this.#circuits.get(route) ?? { ...CLOSED };
    this.#circuits.set(route, circuit);
    circuit.failures += 1;
    if (isProbe) circuit.probing = false;
    if (after > 0 && circuit.failures >= after) circuit.openUntil = this.#now() + duration;
  }
}
