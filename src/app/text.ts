import type { Logger } from 'pino';
import type { Metrics } from '../http/observability/metrics.ts';
import type { RoutingObserver } from '../routing/observer.ts';
import { screenPrompt } from '../safety/prompt-screening.ts';
import type { Store } from '../store/store.ts';
import type { TextObserver } from '../text/billing/charge-report.ts';
import { TextGateway } from '../text/gateway.ts';
import type { TextThreads } from '../threads/text-threads.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { DaemonState } from './state.ts';

interface TextParts {
  readonly state: DaemonState;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly textThreads: TextThreads;
  readonly routingObserver: RoutingObserver;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Counts the usage of requests for text and embeddings, and logs its excesses. */
export function createTextObserver({ routingObserver, log, metrics }: TextParts): TextObserver {
  return {
    ...routingObserver,
    used: (model, usage) => metrics.observeTokens(model, usage),
    exceeded: (excess) =>
      log.warn(
        excess,
        'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
      ),
  };
}

export function createTextGateway(parts: TextParts, observer: TextObserver): TextGateway {
  const { state, store, upstream, textThreads } = parts;
  return new TextGateway({
    config: () => state.config,
    store,
    upstream,
    observer,
    admitPrompt: (prompt, param, client) => screenPrompt(textThreads, prompt, param, { client }),
  });
}
