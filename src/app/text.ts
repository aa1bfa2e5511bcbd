import type { Logger } from 'pino';
import type { Metrics } from '../http/metrics.ts';
import { screenPrompt } from '../media/prompt-screening.ts';
import { MAX_WAITING, type SharedPool } from '../operations/pool.ts';
import type { RoutingObserver } from '../routing/observer.ts';
import type { Store } from '../store/store.ts';
import { TextGateway } from '../text/gateway.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { DaemonState } from './state.ts';

interface TextParts {
  readonly state: DaemonState;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly pool: SharedPool;
  readonly routingObserver: RoutingObserver;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The text gateway, with its usage counted and its excesses logged. */
export function createTextGateway(parts: TextParts): TextGateway {
  const { state, store, upstream, pool, routingObserver, log, metrics } = parts;
  return new TextGateway({
    config: () => state.config,
    store,
    upstream,
    observer: {
      ...routingObserver,
      used: (model, usage) => metrics.observeTokens(model, usage),
      exceeded: (excess) =>
        log.warn(
          excess,
          'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
        ),
      dropped: (fields) =>
        log.info(fields, 'fields were left out that the format of the upstream cannot express'),
    },
    admitPrompt: (prompt, param, client) =>
      screenPrompt(pool, prompt, param, { client, maxWaiting: MAX_WAITING }),
  });
}
