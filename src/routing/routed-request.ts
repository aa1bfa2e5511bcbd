import type { Provider } from '../config/providers/provider-kinds.ts';
import type { Config } from '../config/settings/schema.ts';
import type { Failure } from '../failure.ts';
import { WILDCARD } from '../schema/pattern.ts';
import type { AbortSignalLike } from '../upstream/abort-signal.ts';
import type { AttemptTrace, LogContext } from './observer.ts';
import { canFailOver } from './retry-policy.ts';
import type { Route, RouteCandidate } from './route-candidates.ts';

/** A request that one of several routes is to answer. */
export interface RoutedRequest<RouteType extends Route, Outcome> {
  /** The model's public identifier. */
  readonly model: string;
  /** The account whose request it is: the failures of one account do not cool routes down for others. */
  readonly accountId: string;
  readonly logContext: LogContext;
  /** Null or absent where the request is not traced. */
  readonly trace?: AttemptTrace | null;
  /** Routes in the order in which they are tried. */
  readonly candidates: readonly RouteCandidate<RouteType>[];
  /**
   * The providers of the configuration that the request began with, for those that a reload removed; absent
   * where a removed provider is not tried any more.
   */
  readonly providers?: Config['providers'];
  /**
   * Tokens that a route can read, 0 where they are unknown: a route with a larger window is tried after one whose window
   * was too small. Absent where no other route is tried then.
   */
  windowOf?(candidate: RouteCandidate<RouteType>): number;
  /** Time of `performance.now()` of a stream's first frame; absent where whole answers are asked for. */
  firstFrameAt?(): number | null;
  readonly signal: AbortSignalLike;
  /** Time of `performance.now()` by which an answer is needed. */
  readonly deadline: number;
  /**
   * Sends the request to a route once.
   *
   * @param provider its settings, `apiKey` being the key to use
   * @throws Failure only before the response to the client has started
   */
  attempt(candidate: RouteCandidate<RouteType>, provider: Provider): Promise<Outcome>;
  /** The failure of an outcome after which the response has started; null on success. */
  failureOf?(outcome: Outcome): Failure | null;
  /** Called after a failed attempt that another one may follow. */
  onAttemptFailed?(): void;
  /** Whether the last attempt was answered without the provider, of which it says nothing then. */
  isReplayed?(): boolean;
  /** Answers without the provider while no route can be tried; null where it cannot. */
  replay?(candidate: RouteCandidate<RouteType>, provider: Provider): Promise<Outcome | null>;
}

/** Milliseconds before the deadline at which a timeout still counts as that of the deadline. */
const DEADLINE_SLACK_MS = 100;

export type RequestLimits = Pick<RoutedRequest<Route, unknown>, 'signal' | 'deadline'>;

/** Whether another route may succeed, in the time that is left. */
export function mayFailOver(failure: Failure, { deadline }: RequestLimits): boolean {
  // A provider may have a shorter `total` than the request.
  const isOwnTimeout =
    failure.code === 'total_timeout' && performance.now() < deadline - DEADLINE_SLACK_MS;
  return isOwnTimeout || canFailOver(failure);
}

/** What an attempt says of its route: success, failure, or null for nothing. */
export function successOf(
  failure: Failure | null,
  { route }: RouteCandidate<Route>,
  request: RequestLimits,
): boolean | null {
  if (failure === null) return true;
  // Clients choose a part of the model's name.
  if (failure.code === 'upstream_not_found' && route.model.includes(WILDCARD)) return null;
  return mayFailOver(failure, request) && !request.signal.aborted ? false : null;
}

/** Whether the request was not sent, because the route cannot represent it or may not get it. */
export function wasNotSent({ code }: Failure): boolean {
  return code === 'not_supported_by_model' || code === 'not_allowed';
}
