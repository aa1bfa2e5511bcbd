import { isRemote } from '../config/providers/provider-kinds.ts';
import type { Config, Provider } from '../config/settings/schema.ts';
import type { Failure, FailureType } from '../failure.ts';
import type { Timeouts } from '../upstream/request.ts';

interface RetryPolicy {
  /** Whether the same request to the same route may succeed. */
  readonly sameRoute: boolean;
  /** Whether another route may succeed. */
  readonly nextRoute: boolean;
}

const NEVER: RetryPolicy = { sameRoute: false, nextRoute: false };
const NEXT_ROUTE: RetryPolicy = { sameRoute: false, nextRoute: true };
const ANY_ROUTE: RetryPolicy = { sameRoute: true, nextRoute: true };

const POLICY_BY_TYPE: Readonly<Record<FailureType, RetryPolicy>> = {
  invalid_request: NEVER,
  auth_error: NEVER,
  rate_limit: ANY_ROUTE,
  insufficient_quota: NEVER,
  content_policy: NEVER,
  timeout: ANY_ROUTE,
  network_error: ANY_ROUTE,
  service_error: ANY_ROUTE,
  billable_error: NEVER,
  unknown: NEVER,
};

/** Exceptions to the policy of the type. */
const POLICY_BY_CODE = new Map<string, RetryPolicy>([
  ['upstream_auth', NEXT_ROUTE],
  ['upstream_quota', NEXT_ROUTE],
  ['upstream_not_found', NEXT_ROUTE],
  ['upstream_refused', NEXT_ROUTE],
  ['upstream_redirect', NEXT_ROUTE],
  ['upstream_request_invalid', NEXT_ROUTE],
  ['upstream_answer_too_large', NEXT_ROUTE],
  ['upstream_answer_unreadable', NEXT_ROUTE],
  // A retry would wait for the whole timeout once more.
  ['first_byte_timeout', NEXT_ROUTE],
  ['idle_timeout', NEXT_ROUTE],
  // No time is left for any route.
  ['total_timeout', NEVER],
  // This machine has no descriptor left: no other provider can be reached either.
  ['connections_exhausted', { sameRoute: true, nextRoute: false }],
  ['aborted', NEVER],
  // The recordings stay the same, and another route would be asked for something else.
  ['cassette_miss', NEVER],
]);

/** Whether the provider rejects the gateway's key or account, which only the operator can mend. */
export function needsOperator({ type, code }: Failure): boolean {
  return type === 'service_error' && (code === 'upstream_auth' || code === 'upstream_quota');
}

/** Whether the same request to the same route may succeed. */
export function isRetriable(failure: Failure): boolean {
  return retryPolicyOf(failure).sameRoute;
}

/** Whether another route may succeed. */
export function canFailOver(failure: Failure): boolean {
  return retryPolicyOf(failure).nextRoute;
}

function retryPolicyOf({ type, code }: Failure): RetryPolicy {
  const byType = POLICY_BY_TYPE[type];
  // The upstream chooses `code`: it must not make an invalid request retriable.
  return byType.nextRoute ? (POLICY_BY_CODE.get(code ?? '') ?? byType) : byType;
}

type Settings = Pick<Config, 'routing' | 'providers'>;

/** Timeouts of requests to a provider: its own, and those of all providers where it has none. */
export function timeoutsOf({ routing }: Pick<Config, 'routing'>, provider: Provider): Timeouts {
  if (!isRemote(provider) || provider.timeouts === undefined) return routing.timeouts;
  return { ...routing.timeouts, ...(provider.timeouts as Partial<Timeouts>) };
}

/** The timeouts of a request whose answer is needed by a deadline, in `performance.now()`. */
export function timeoutsUntil(
  deadline: number,
  config: Pick<Config, 'routing'>,
  provider: Provider,
  isStreamed = false,
): Timeouts {
  const timeouts = timeoutsOf(config, provider);
  const remaining = deadline - performance.now();
  return {
    ...timeouts,
    // A whole answer begins when it is complete, so that only a stream has a limit for its first byte.
    firstByte: isStreamed ? timeouts.firstByte : 0,
    total: Math.max(1, Math.min(remaining, timeouts.total)),
  };
}

/** Milliseconds that a request may take: the longest `total` of the providers of its routes. */
export function longestTotal(
  config: Settings,
  routes: readonly { readonly provider: string }[],
): number {
  let longest = 0;
  for (const { provider } of routes) {
    longest = Math.max(longest, timeoutsOf(config, config.providers[provider]!).total);
  }
  return longest;
}
