import { routesOf } from '../config/catalog.ts';
import type { Config, Model } from '../config/schema.ts';
import { Failure } from '../failure.ts';
import type { Cancelled } from '../upstream/cancellation.ts';
import { RouteHealth } from './health.ts';
import { pauseBefore } from './patience.ts';
import { forClient, isRetriable, isRoutable } from './upstream-failure.ts';

/** A provider to ask, as a model of the catalog names it. */
interface Route {
  readonly provider: string;
}

/** A route with the name by which its health is remembered. */
export interface Way<Routed extends Route> {
  readonly route: Routed;
  readonly name: string;
}

const waysOfModels = new WeakMap<Model, readonly Way<Model['routes'][number]>[]>();

/** A model's routes in the order in which they are tried, found once for each model of each configuration. */
export function waysOf<Routed extends Model>(
  model: Routed,
): readonly Way<Routed['routes'][number]>[] {
  let ways = waysOfModels.get(model);
  if (!ways) {
    ways = routesOf<Model>(model).map((route) => ({ route, name: nameOf(route) }));
    waysOfModels.set(model, ways);
  }
  return ways;
}

/** Tasks keep it in their records, so that it is the same after a restart. */
function nameOf(route: Model['routes'][number]): string {
  const { provider, model } = route;
  const dialect = 'dialect' in route && route.dialect ? [route.dialect] : [];
  return JSON.stringify([provider, model, ...dialect]);
}

/** One request that is to be answered by one of several routes. */
export interface Trial<Routed extends Route, Outcome> {
  /** The model's public identifier. */
  readonly model: string;
  readonly subject: Subject;
  /** In the order in which they are tried. */
  readonly ways: readonly Way<Routed>[];
  readonly signal: Cancelled;
  /** When it must be over, on the clock of `performance`. */
  readonly deadline: number;
  /** Asks a route once. @throws Failure where nobody has been told anything yet */
  attempt(way: Way<Routed>): Promise<Outcome>;
  /** What an outcome ended with of which the client was told something; null where all is well. */
  failureOf?(outcome: Outcome): Failure | null;
  /** A try came to nothing, and there may be another. */
  forget?(): void;
}

/** What an attempt was made for, for the log: the identifier of a request, of a task, or neither. */
export interface Subject {
  readonly requestId?: string;
  readonly task?: string;
}

/** Called after each attempt at a route. @param failure null where the attempt succeeded */
export type Tried = (provider: string, failure: Failure | null, subject: Subject) => void;

/** No number of failures makes a route rest. */
const NEVER = { after: 0, for: 0 };

/** No route of a model may be tried now. `retryAfter` tells when the first may be. */
export class Resting extends Failure {
  /** @param rest milliseconds */
  constructor(model: string, rest: number) {
    super('service_error', `all upstreams of the model ${model} are failing`, {
      code: 'upstreams_resting',
      retryAfter: rest / 1000,
    });
  }
}

/** Tries the routes of models: again where that may help, then the next one, and lets those rest that keep failing. */
export class Routing {
  readonly #config: () => Config;
  readonly #tried: Tried;
  readonly #health = new RouteHealth();

  constructor(config: () => Config, tried: Tried) {
    this.#config = config;
    this.#tried = tried;
  }

  /** Milliseconds until a route may be tried; 0 for now. */
  restOf({ name }: Way<Route>): number {
    return this.#health.restOf(name);
  }

  /** @throws Failure of the route that failed last; Resting where all are */
  async run<Routed extends Route, Outcome>(trial: Trial<Routed, Outcome>): Promise<Outcome> {
    let last: Failure | null = null;
    let rest = Infinity;
    for (const way of trial.ways) {
      const resting = this.#health.restOf(way.name);
      if (resting > 0) {
        rest = Math.min(rest, resting);
        continue;
      }
      const outcome = await this.#retry(trial, way);
      if (!(outcome instanceof Failure)) return outcome;
      // A refusal to translate tells less than what went wrong where it could be tried.
      if (last === null || !isUntold(outcome)) last = outcome;
    }
    if (last) throw last;
    throw new Resting(trial.model, rest);
  }

  /** Tries one route, again where that may help. A failure that is returned is worth another route. */
  async #retry<Routed extends Route, Outcome>(
    trial: Trial<Routed, Outcome>,
    way: Way<Routed>,
  ): Promise<Outcome | Failure> {
    const { routing, providers } = this.#config();
    const { provider } = way.route;
    const { signal } = trial;
    // What fails there was asked to fail.
    const isSandbox = providers[provider]?.kind === 'sandbox';
    const cooldown = isSandbox ? NEVER : routing.cooldown;
    const retries = isSandbox ? 0 : routing.retries;
    for (let tries = 0; ; tries += 1) {
      const tell = this.#health.begin(way.name, cooldown);
      let failure: Failure;
      try {
        const outcome = await trial.attempt(way);
        const told = trial.failureOf?.(outcome) ?? null;
        tell(healthOf(told, signal));
        this.#tried(provider, told, trial.subject);
        return outcome;
      } catch (error) {
        const fault = signal.aborted ? signal.reason : error;
        tell(fault instanceof Failure ? healthOf(fault, signal) : null);
        if (!(fault instanceof Failure) || signal.aborted) throw fault;
        failure = forClient(fault, { ...providers[provider], name: provider });
      }
      if (isUntold(failure)) return failure;
      this.#tried(provider, failure, trial.subject);
      if (!isRoutable(failure)) throw failure;
      trial.forget?.();
      const again = isRetriable(failure) && tries < retries;
      if (!again || this.#health.restOf(way.name) > 0) return failure;
      if (!(await pauseBefore(tries + 1, failure, trial))) return failure;
    }
  }
}

/** What a try says of its route; null for nothing. */
function healthOf(failure: Failure | null, signal: Cancelled): boolean | null {
  if (failure === null) return true;
  return isRoutable(failure) && !signal.aborted ? false : null;
}

/** Whether a route was not asked at all: it could not have understood, or may not be asked this. */
function isUntold({ code }: Failure): boolean {
  return code === 'not_supported_by_model' || code === 'not_allowed';
}
