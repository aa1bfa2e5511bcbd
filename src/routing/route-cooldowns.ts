import { Failure } from '../failure.ts';
import { needsOperator } from './retry-policy.ts';

/** A route that is not used for a while. */
export interface RouteCooldown {
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
  /** The account whose requests do not use it; null for all. */
  readonly account: string | null;
  /** The failure that began its cooldown. */
  readonly failure: Failure;
  /** Time of `performance.now()` until which it is not tried. */
  readonly until: number;
}

/** Routes that reloads removed are forgotten beyond this number, the oldest first. */
const MAX_ROUTES = 10_000;

/** The routes that began to cool down and have not succeeded since. */
export class RouteCooldowns {
  readonly #routes = new Map<string, RouteCooldown>();

  get(name: string): RouteCooldown | undefined {
    return this.#routes.get(name);
  }

  /** Registers a cooldown, or its extension. @returns whether it is a new one, or now one for all accounts */
  begin(name: string, route: RouteCooldown): boolean {
    const before = this.#routes.get(name);
    const isNew = before === undefined || (before.account !== null && route.account === null);
    this.#routes.set(name, route);
    if (this.#routes.size > MAX_ROUTES) this.#routes.delete(this.#routes.keys().next().value!);
    return isNew;
  }

  /** Ends the cooldown of a route that has succeeded. @returns the route; null where it had none */
  end(name: string): RouteCooldown | null {
    if (this.#routes.size === 0) return null;
    const route = this.#routes.get(name);
    this.#routes.delete(name);
    return route ?? null;
  }

  /** The routes that are not used now. */
  *now(): Generator<RouteCooldown, void> {
    const now = performance.now();
    for (const route of this.#routes.values()) if (route.until > now) yield route;
  }
}

/** Every route of a model cools down for an account. `retryAfter` is when the first one may be tried. */
export class RoutesCoolingDown extends Failure {
  /**
   * @param failure that began the cooldown of that route
   * @param cooldown milliseconds
   */
  constructor(model: string, failure: Failure | undefined, cooldown: number) {
    const retryAfter = cooldown / 1000;
    if (failure?.type === 'rate_limit' || (failure !== undefined && needsOperator(failure))) {
      const { type, message, code, status, detail } = failure;
      super(type, message, { status, originalCode: code, retryAfter, detail: detail ?? message });
      return;
    }
    super('service_error', `all upstreams of the model ${model} are failing`, {
      code: 'upstreams_resting',
      retryAfter,
    });
  }
}
