import type { Provider } from '../config/providers/provider-kinds.ts';
import type { Failure } from '../failure.ts';
import type { KeyCooldownTimes } from './provider-keys.ts';
import type { Route } from './route-candidates.ts';
import type { RouteCooldown } from './route-cooldowns.ts';

/** Identifier of the request or task that an attempt was made for, for the log. */
export interface LogContext {
  readonly requestId?: string;
  readonly task?: string;
}

/**
 * Called after each attempt at a route.
 *
 * @param failure null where the attempt succeeded
 * @param key names one of several keys of the provider; null for an only key
 */
export type OnAttempt = (
  provider: string,
  failure: Failure | null,
  logContext: LogContext,
  key: string | null,
) => void;

/** Records the attempts of one request, which follow one another. */
export interface AttemptTrace {
  begin(route: { readonly provider: string; readonly model: string }, provider: Provider): void;
  /** @param key names one of several keys of the provider; null for an only key */
  end(failure: Failure | null, key: string | null): void;
  /** The attempt was not sent. */
  discard(): void;
}

/** Cooldown of a key on a route, for other nodes. */
export interface SharedCooldown extends Route, KeyCooldownTimes {
  /** Name of the route. */
  readonly route: string;
  readonly fingerprint: string;
  /** The account whose request has failed; null where those of several accounts have. */
  readonly account: string | null;
  readonly failure: Failure;
}

/** Events of routes, for the log and metrics. */
export interface RoutingObserver {
  readonly onAttempt: OnAttempt;
  /** One of several keys of a provider cools down. @param milliseconds in which other keys are used before it */
  onKeyCooldown?(route: RouteCooldown, key: string, milliseconds: number): void;
  /** A provider has refused or limited a key, which other nodes may use as well. */
  onSharedCooldown?(cooldown: SharedCooldown): void;
  /** A route begins to cool down. */
  onCooldown?(route: RouteCooldown): void;
  /** A route that cooled down has succeeded. */
  onRecovery?(route: RouteCooldown): void;
}
