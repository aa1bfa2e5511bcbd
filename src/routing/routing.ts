import { kindOf, type Provider } from '../config/providers/provider-kinds.ts';
import type { Config, Model } from '../config/settings/schema.ts';
import { codedFailure, Failure } from '../failure.ts';
import { answerRandom } from '../store/answer-identity.ts';
import { waitBeforeRetry, waitForRateLimit } from './backoff.ts';
import { CircuitBreakers } from './circuit-breaker.ts';
import type { RoutingObserver, SharedCooldown } from './observer.ts';
import { isOverflow, Overflow } from './overflow.ts';
import {
  type KeyCooldown,
  type KeyCooldownTimes,
  type KeyedProvider,
  keyCooldownTimes,
  ProviderKeys,
} from './provider-keys.ts';
import { redactForClient, secretsRedactor } from './redaction.ts';
import { isRetriable } from './retry-policy.ts';
import { type Route, type RouteCandidate, sentTo } from './route-candidates.ts';
import { type RouteCooldown, RouteCooldowns, RoutesCoolingDown } from './route-cooldowns.ts';
import { Latencies, orderRoutes } from './route-order.ts';
import { mayFailOver, type RoutedRequest, successOf, wasNotSent } from './routed-request.ts';

/** Keys that one request tries at most: some providers refuse each of them for the prompt alone. */
const MAX_KEYS_TRIED = 10;

/** The failure of an attempt that ended with an error that is no Failure. */
const DEFECT = new Failure('unknown', 'a defect');

/** A cooldown that never begins. */
const NO_COOLDOWN = { after: 0, for: 0 };

/** Tries the routes of models in order, with retries and several keys, and skips routes that cool down. */
export class Routing {
  readonly #config: () => Config;
  readonly #observer: RoutingObserver;
  readonly #circuits = new CircuitBreakers();
  readonly #keys = new ProviderKeys();
  readonly #cooldowns = new RouteCooldowns();
  readonly #latencies = { stream: new Latencies(), whole: new Latencies() };

  constructor(config: () => Config, observer: RoutingObserver) {
    this.#config = config;
    this.#observer = observer;
  }

  /**
   * A model's routes in the order in which one request tries them.
   *
   * @param part what the wildcard of the model's identifier stands for
   * @param answer what latency is compared by
   */
  candidatesOf<ModelType extends Model>(
    model: ModelType,
    part: string | null,
    answer: 'stream' | 'whole' = 'whole',
  ): readonly RouteCandidate<ModelType['routes'][number]>[] {
    const latencies = this.#latencies[answer];
    return orderRoutes(model, answerRandom, (name) => latencies.median(name), part);
  }

  /** Milliseconds until an account may try a route; 0 for now. @param accountId null for any without failures */
  remainingCooldown({ name, route }: RouteCandidate<Route>, accountId: string | null): number {
    const { providers, routing } = this.#config();
    const provider = providers[route.provider];
    // A reload may have disabled cooldowns while some last.
    const never = routing.cooldown.after === 0;
    const circuit = never ? 0 : this.#circuits.remainingCooldown(name, accountId);
    return provider === undefined
      ? circuit
      : Math.max(circuit, this.#keys.remaining(name, provider, accountId));
  }

  /** The routes that cool down now. */
  routeCooldowns(): Iterable<RouteCooldown> {
    return this.#config().routing.cooldown.after === 0 ? [] : this.#cooldowns.now();
  }

  keyCooldowns(): Iterable<KeyCooldown> {
    return this.#keys.cooldowns();
  }

  /** Begins the cooldown of a key that the provider has refused or limited at another node. */
  coolDownElsewhere(shared: SharedCooldown): void {
    const { provider, model, route, fingerprint, account, failure, ...times } = shared;
    if (this.#config().routing.cooldown.after === 0) return;
    const since = performance.now();
    this.#keys.beginCooldown(route, provider, { fingerprint }, times, failure, account);
    const settings = this.#config().providers[provider];
    if (settings === undefined) return;
    const forAll = this.#keys.remaining(route, settings, null);
    const remaining = forAll > 0 ? forAll : this.#keys.remaining(route, settings, account);
    if (remaining === 0) return;
    const until = since + remaining;
    const cooldown = { provider, model, account: forAll > 0 ? null : account, failure, until };
    if (this.#cooldowns.begin(route, cooldown)) this.#observer.onCooldown?.(cooldown);
  }

  /** @throws Failure of the route that failed last; RoutesCoolingDown where none could be tried */
  async run<RouteType extends Route, Outcome>(
    request: RoutedRequest<RouteType, Outcome>,
  ): Promise<Outcome> {
    for (let waits = 0; ; waits += 1) {
      let last: Failure | null = null;
      let shortest = Infinity;
      let soonest: string | null = null;
      const overflow = new Overflow(request.windowOf ?? (() => 0));
      for (const candidate of request.candidates) {
        if (overflow.excludes(candidate)) continue;
        const cooldown = this.remainingCooldown(candidate, request.accountId);
        if (cooldown > 0) {
          if (cooldown < shortest) soonest = candidate.name;
          shortest = Math.min(shortest, cooldown);
          continue;
        }
        const outcome = await this.#attemptWithRetries(request, candidate);
        if (!(outcome instanceof Failure)) return outcome;
        // A route that cannot represent the request says less than one that failed.
        if (wasNotSent(outcome)) last ??= outcome;
        else if (overflow.add(candidate, outcome)) last = outcome;
      }
      if (last) throw overflow.explain(last);
      const replayed = await this.#replay(request);
      if (replayed !== null) return replayed;
      const reason = soonest === null ? undefined : this.#cooldowns.get(soonest)?.failure;
      const refusal = new RoutesCoolingDown(request.model, reason, shortest);
      if (waits >= this.#config().routing.retries) throw refusal;
      if (!(await waitForRateLimit(refusal, shortest, request))) throw refusal;
    }
  }

  async #replay<RouteType extends Route, Outcome>(
    request: RoutedRequest<RouteType, Outcome>,
  ): Promise<Outcome | null> {
    for (const candidate of request.candidates) {
      const provider = this.#providerOf(candidate.route.provider, request.providers);
      const outcome = provider && (await request.replay?.(candidate, provider));
      if (outcome) return outcome;
    }
    return null;
  }

  /**
   * Tries one route, with each of its provider's keys where the provider refuses or limits one. Returns a
   * failure where the next route may be tried, throws one where not.
   */
  async #attemptWithRetries<RouteType extends Route, Outcome>(
    request: RoutedRequest<RouteType, Outcome>,
    candidate: RouteCandidate<RouteType>,
  ): Promise<Outcome | Failure> {
    const { name, route } = candidate;
    const { accountId, signal, logContext, trace } = request;
    let tried: Set<string> | null = null;
    let last: Failure | null = null;
    for (let attempts = 1; ; ) {
      const { routing, providers } = this.#config();
      const provider = this.#providerOf(route.provider, request.providers);
      if (provider === undefined) {
        return codedFailure('upstream_not_found', 'The provider is no longer configured');
      }
      const isRetried = kindOf(provider).isRetried !== false;
      const cooldown = isRetried ? routing.cooldown : NO_COOLDOWN;
      const keyed = this.#keys.take(name, provider, accountId, tried);
      // A reload may have removed the keys that were left.
      if (keyed === null) {
        const reason = this.#cooldowns.get(name)?.failure;
        const remaining = Math.max(1, this.remainingCooldown(candidate, accountId));
        return last ?? new RoutesCoolingDown(request.model, reason, remaining);
      }
      const report = this.#circuits.begin(name, cooldown, accountId);
      const startedAt = performance.now();
      let failure: Failure;
      trace?.begin(route, provider);
      try {
        const outcome = await request.attempt(candidate, keyed.settings);
        if (request.isReplayed?.()) {
          trace?.discard();
          report(null);
          return outcome;
        }
        const lateFailure = request.failureOf?.(outcome) ?? null;
        report(successOf(lateFailure, candidate, request));
        if (lateFailure === null) this.#succeeded(candidate, request, keyed, startedAt);
        else this.#noteCooldown(candidate, accountId, lateFailure);
        trace?.end(lateFailure, keyed.label);
        this.#observer.onAttempt(route.provider, lateFailure, logContext, keyed.label);
        return outcome;
      } catch (thrown) {
        const error = signal.aborted ? signal.reason : thrown;
        if (!(error instanceof Failure) || signal.aborted) {
          trace?.end(error instanceof Failure ? error : DEFECT, keyed.label);
          report(null);
          throw error;
        }
        failure = redactForClient(error, {
          ...keyed.settings,
          name: route.provider,
          redact: secretsRedactor(providers),
        });
      }
      if (wasNotSent(failure)) {
        trace?.discard();
        report(null);
        return failure;
      }
      trace?.end(failure, keyed.label);
      last = failure;
      const times = keyCooldownTimes(failure, cooldown);
      if (times !== null) {
        const isNew = this.#keys.beginCooldown(
          name,
          route.provider,
          keyed,
          times,
          failure,
          accountId,
        );
        if (isNew) this.#noteKeyCooldown(candidate, accountId, keyed, failure, times);
        tried = (tried ?? new Set()).add(keyed.fingerprint);
      }
      const hasKey =
        tried !== null &&
        times !== null &&
        tried.size < MAX_KEYS_TRIED &&
        this.#keys.hasOther(name, provider, accountId, tried);
      // One bad key says nothing of a route that has others, and a key that is skipped needs no circuit.
      report(hasKey || (times?.skipped ?? 0) > 0 ? null : successOf(failure, candidate, request));
      this.#noteCooldown(candidate, accountId, failure);
      this.#observer.onAttempt(route.provider, failure, logContext, keyed.label);
      if (!mayFailOver(failure, request) && !isOverflow(failure)) throw failure;
      request.onAttemptFailed?.();
      if (hasKey) continue;
      const retries = isRetried ? routing.retries : 0;
      if (!isRetriable(failure) || attempts > retries) return failure;
      const isOpen = this.#circuits.remainingCooldown(name, accountId) > 0;
      if (isOpen && cooldown.after > 0) return failure;
      const isLast = candidate === request.candidates.at(-1);
      if (!isLast && this.remainingCooldown(candidate, accountId) > 0) return failure;
      if (!(await waitBeforeRetry(attempts, failure, request))) return failure;
      attempts += 1;
      tried = null;
    }
  }

  /** The settings in force; those that the request began with where a reload removed or replaced them. */
  #providerOf(name: string, providers: Config['providers'] = {}): Provider | undefined {
    const before = providers[name];
    const now = this.#config().providers[name];
    return now === undefined || (before !== undefined && before.kind !== now.kind) ? before : now;
  }

  #succeeded(
    candidate: RouteCandidate<Route>,
    { accountId, firstFrameAt }: Pick<RoutedRequest<Route, never>, 'accountId' | 'firstFrameAt'>,
    keyed: KeyedProvider,
    startedAt: number,
  ): void {
    const at = firstFrameAt ? firstFrameAt() : performance.now();
    const latencies = this.#latencies[firstFrameAt ? 'stream' : 'whole'];
    if (at !== null && at >= startedAt) latencies.add(candidate.name, at - startedAt);
    this.#keys.wake(candidate.name, keyed, startedAt);
    const cooldown = this.#cooldowns.get(candidate.name);
    if (cooldown === undefined) return;
    if (this.remainingCooldown(candidate, cooldown.account ?? accountId) > 0) return;
    this.#observer.onRecovery?.(this.#cooldowns.end(candidate.name)!);
  }

  /** Registers the cooldown of a route, if a failure began one. */
  #noteCooldown(candidate: RouteCandidate<Route>, accountId: string, failure: Failure): void {
    const remaining = this.remainingCooldown(candidate, accountId);
    if (remaining === 0) return;
    const { provider, model } = sentTo(candidate);
    const account = this.remainingCooldown(candidate, null) > 0 ? null : accountId;
    const route = { provider, model, account, failure, until: performance.now() + remaining };
    if (this.#cooldowns.begin(candidate.name, route)) this.#observer.onCooldown?.(route);
  }

  #noteKeyCooldown(
    candidate: RouteCandidate<Route>,
    accountId: string,
    { label, fingerprint }: KeyedProvider,
    failure: Failure,
    times: KeyCooldownTimes,
  ): void {
    const named = sentTo(candidate);
    const { name } = candidate;
    const account = this.#keys.isForAll(name, fingerprint) ? null : accountId;
    const shared = { ...named, route: name, fingerprint, account, ...times, failure };
    this.#observer.onSharedCooldown?.(shared);
    if (label === null) return;
    const route = { ...named, account, failure, until: performance.now() + times.avoided };
    this.#observer.onKeyCooldown?.(route, label, times.avoided);
  }
}
