import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { Metrics } from '../http/metrics.ts';
import { redactKey } from '../routing/redaction.ts';
import { needsOperator } from '../routing/retry-policy.ts';
import type { OnAttempt } from '../routing/routing.ts';
import type { DaemonState } from './state.ts';

/** Counts every attempt at a provider and logs those that failed, without any provider's key. */
export function attemptObserver(state: DaemonState, log: Logger, metrics: Metrics): OnAttempt {
  return (provider, failure, logContext) => {
    metrics.observeAttempt(provider, failure?.type ?? 'ok');
    // Without a detail the gateway refused the request itself, before it reached the provider.
    const isLocal = failure?.type === 'invalid_request' && failure.detail === null;
    if (failure === null || isLocal) return;
    // Errors for clients name neither the provider nor its message: the log has both.
    const { type, status } = failure;
    const { providers } = state.config;
    const code = redactKeys(failure.code, providers);
    const detail = redactKeys(failure.detail, providers);
    const line = { ...logContext, provider, type, code, status, detail };
    if (needsOperator(failure)) {
      log.warn(line, 'a provider refused the key or the account of the gateway');
    } else log.info(line, 'an attempt at a provider failed');
  };
}

/** A provider that relays to another may quote the other's key. */
function redactKeys(text: string | null, providers: Config['providers']): string | null {
  let clean = text;
  for (const provider of Object.values(providers)) {
    if (clean !== null && 'apiKey' in provider) clean = redactKey(clean, provider.apiKey);
  }
  return clean;
}
