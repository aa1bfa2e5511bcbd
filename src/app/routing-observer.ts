import type { AlertWatch } from '../alerts/watch.ts';
import type { Failure } from '../failure.ts';
import type { OnAttempt, RoutingObserver } from '../routing/observer.ts';
import type { ProviderHealth } from '../routing/provider-health.ts';
import { secretsRedactor } from '../routing/redaction.ts';
import { needsOperator } from '../routing/retry-policy.ts';
import type { RouteCooldown } from '../routing/route-cooldowns.ts';
import type { Start } from './start.ts';

/**
 * Counts every attempt at a provider, and logs those that failed and the cooldowns of routes and keys,
 * without any provider's secrets.
 */
export function routingObserver(
  { state, log, metrics }: Start,
  health: ProviderHealth,
  alerts: AlertWatch,
): Required<Omit<RoutingObserver, 'onSharedCooldown'>> {
  const describe = ({ type, code, status, detail }: Failure) => {
    const redact = secretsRedactor(state.config.providers);
    const redactOptional = (text: string | null) => (text === null ? null : redact(text));
    return { type, code: redactOptional(code), status, detail: redactOptional(detail) };
  };
  const describeRoute = ({ provider, model, account, failure, until }: RouteCooldown) => ({
    provider,
    model,
    // A route or key that cools down for one account serves all others.
    ...(account !== null && { account }),
    ...describe(failure),
    until: new Date(Date.now() + until - performance.now()).toISOString(),
  });
  const onAttempt: OnAttempt = (provider, failure, logContext, key) => {
    metrics.upstreamAttempts.inc({ provider, outcome: outcomeOf(failure) });
    // Without a detail the gateway refused the request itself, before it reached the provider.
    const isLocal = failure?.type === 'invalid_request' && failure.detail === null;
    if (failure === null) {
      health.succeeded(provider);
      alerts.attempted(provider, false);
    }
    if (failure === null || isLocal) return;
    // Errors for clients name neither the provider nor its message: the log has both.
    const described = describe(failure);
    if (isOfProvider(failure)) {
      const { type, code, detail } = described;
      const status = failure.upstreamStatus;
      const message = detail ?? failure.message;
      health.failed(provider, { type, code, status, message, key });
      alerts.attempted(provider, true);
      if (needsOperator(failure)) alerts.refused(provider, key, message);
    }
    const line = { ...logContext, provider, ...(key !== null && { key }), ...described };
    const what = needsOperator(failure)
      ? 'a provider refused the key or the account of the gateway'
      : 'an attempt at a provider failed';
    if (isOfProvider(failure)) log.warn(line, what);
    else log.info(line, what);
  };
  return {
    onAttempt,
    onKeyCooldown: (route, key) =>
      log.info({ ...describeRoute(route), key }, 'a provider key cools down'),
    onCooldown: (route) => log.warn(describeRoute(route), 'a route cools down'),
    onRecovery: (route) => {
      const { provider, model } = route;
      log.info({ provider, model }, 'a route has recovered');
      alerts.recovered(route);
    },
  };
}

/** Whether a failure says something of the provider, and not of the client's request. */
function isOfProvider({ type }: Failure): boolean {
  return type !== 'invalid_request' && type !== 'content_policy';
}

/** `ok`, the code of a failure that the operator has to mend, or the type of any other. */
function outcomeOf(failure: Failure | null): string {
  if (failure === null) return 'ok';
  return needsOperator(failure) ? failure.code! : failure.type;
}
