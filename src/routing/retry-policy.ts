import type { Failure, FailureType } from '../failure.ts';

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
