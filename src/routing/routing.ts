import { routesOf } from '../config/catalog.ts';
import { kindOf } from '../config/provider-kinds.ts';
import type { Config, Model } from '../config/schema.ts';
import { Failure } from '../failure.ts';
import type { AbortSignalLike } from '../upstream/abort-signal.ts';
import { waitBeforeRetry } from './backoff.ts';
import { CircuitBreakers } from './circuit-breaker.ts';
import { redactForClient } from './redaction.ts';
import { canFailOver, isRetriable } from './retry-policy.ts';

/** A provider of the catalog that serves a model. */
interface Route {
  readonly provider: string;
}

/** A route with the name of its circuit breaker. */
export interface RouteCandidate<RouteType extends Route> {
  readonly route: RouteType;
  readonly name: string;
}

const candidatesOfModels = new WeakMap<Model, readonly RouteCandidate<Model['routes'][number]>[]>();

/** A model's routes in the order in which they are tried, sorted once for each loaded configuration. */
export function routeCandidates<ModelType extends Model>(
  model: ModelType,
): readonly RouteCandidate<ModelType['routes'][number]>[] {
  let candidates = candidatesOfModels.get(model);
  if (!candidates) {
    candidates = routesOf<Model>(model).map((route) => ({ route, name: nameOf(route) }));
    candidatesOfModels.set(model, candidates);
  }
  return candidates;
}

/** Tasks store the name in their records, so it must not change across restarts. */
function nameOf(route: Model['routes'][number]): string {
  const { provider, model } = route;
  const dialect = 'dialect' in route && route.dialect ? [route.dialect] : [];
  return JSON.stringify([provider, model, ...dialect]);
}

/** A request that one of several routes is to answer. */
export interface RoutedRequest<RouteType extends Route, Outcome> {
  /** The model's public identifier. */
  readonly model: string;
  readonly logContext: LogContext;
  /** Routes in the order in which they are tried. */
  readonly candidates: readonly RouteCandidate<RouteType>[];
  readonly signal: AbortSignalLike;
  /** Time of `performance.now()` by which an answer is needed. */
  readonly deadline: number;
  /** Sends the request to a route once. @throws Failure only before the response to the client has started */
  attempt(candidate: RouteCandidate<RouteType>): Promise<Outcome>;
  /** The failure of an outcome after which the response has started; null on success. */
  failureOf?(outcome: Outcome): Failure | null;
  /** Called after a failed attempt that another one may follow. */
  onAttemptFailed?(): void;
}

/** Identifier of the request or task that an attempt was made for, for the log. */
export interface LogContext {
  readonly requestId?: string;
  readonly task?: string;
}

/** Called after each attempt at a route. @param failure null where the attempt succeeded */
export type OnAttempt = (provider: string, failure: Failure | null, logContext: LogContext) => void;

/** A cooldown that never begins. */
const NO_COOLDOWN = { after: 0, for: 0 };

/** The circuits of all routes of a model are open. `retryAfter` is when the first one may be tried. */
export class CircuitOpen extends Failure {
  /** @param cooldown milliseconds */
  constructor(model: string, cooldown: number) {
    super('service_error', `all upstreams of the model ${model} are failing`, {
      code: 'upstreams_resting',
      retryAfter: cooldown / 1000,
    });
  }
}

/** Tries the routes of models in order, with retries, and skips routes whose circuit is open. */
export class Routing {
  readonly #config: () => Config;
  readonly #onAttempt: OnAttempt;
  readonly #circuits = new CircuitBreakers();

  constructor(config: () => Config, onAttempt: OnAttempt) {
    this.#config = config;
    this.#onAttempt = onAttempt;
  }

  /** Milliseconds until a route may be tried; 0 for now. */
  remainingCooldown({ name }: RouteCandidate<Route>): number {
    return this.#circuits.remainingCooldown(name);
  }

  /** @throws Failure of the route that failed last; CircuitOpen where none could be tried */
  async run<RouteType extends Route, Outcome>(
    request: RoutedRequest<RouteType, Outcome>,
  ): Promise<Outcome> {
    let last: Failure | null = null;
    let shortestCooldown = Infinity;
    for (const candidate of request.candidates) {
      const cooldown = this.#circuits.remainingCooldown(candidate.name);
      if (cooldown > 0) {
        shortestCooldown = Math.min(shortestCooldown, cooldown);
        continue;
      }
      const outcome = await this.#attemptWithRetries(request, candidate);
      if (!(outcome instanceof Failure)) return outcome;
      // A route that cannot represent the request says less than one that failed.
      if (last === null || !wasNotSent(outcome)) last = outcome;
    }
    if (last) throw last;
    throw new CircuitOpen(request.model, shortestCooldown);
  }

  /** Tries one route. Returns a failure where the next route may be tried, throws one where not. */
  async #attemptWithRetries<RouteType extends Route, Outcome>(
    request: RoutedRequest<RouteType, Outcome>,
    candidate: RouteCandidate<RouteType>,
  ): Promise<Outcome | Failure> {
    const { routing, providers } = this.#config();
    const { provider } = candidate.route;
    const { signal, logContext } = request;
    const settings = providers[provider];
    const isRetried = settings === undefined || kindOf(settings).isRetried;
    const cooldown = isRetried ? routing.cooldown : NO_COOLDOWN;
    const retries = isRetried ? routing.retries : 0;
    for (let attempts = 1; ; attempts += 1) {
      const report = this.#circuits.begin(candidate.name, cooldown);
      let failure: Failure;
      try {
        const outcome = await request.attempt(candidate);
        const lateFailure = request.failureOf?.(outcome) ?? null;
        report(successOf(lateFailure, signal));
        this.#onAttempt(provider, lateFailure, logContext);
        return outcome;
      } catch (thrown) {
        const error = signal.aborted ? signal.reason : thrown;
        report(error instanceof Failure ? successOf(error, signal) : null);
        if (!(error instanceof Failure) || signal.aborted) throw error;
        failure = redactForClient(error, { ...providers[provider], name: provider });
      }
      if (wasNotSent(failure)) return failure;
      this.#onAttempt(provider, failure, logContext);
      if (!canFailOver(failure)) throw failure;
      request.onAttemptFailed?.();
      if (!isRetriable(failure) || attempts > retries) return failure;
      if (this.#circuits.remainingCooldown(candidate.name) > 0) return failure;
      if (!(await waitBeforeRetry(attempts, failure, request))) return failure;
    }
  }
}

/** What an attempt says of its route: success, failure, or null for nothing. */
function successOf(failure: Failure | null, signal: AbortSignalLike): boolean | null {
  if (failure === null) return true;
  return canFailOver(failure) && !signal.aborted ? false : null;
}

/** Whether the request was not sent, because the route cannot represent it or may not get it. */
function wasNotSent({ code }: Failure): boolean {
  return code === 'not_supported_by_model' || code === 'not_allowed';
}
