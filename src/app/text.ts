import { join } from 'node:path';
import { cacheSizeOf } from '../config/catalog/catalog.ts';
import { CacheFolder } from '../exchanges/cache/cache-folder.ts';
import { ExactCache } from '../exchanges/cache/exact-cache.ts';
import { screenPrompt } from '../safety/prompt-screening.ts';
import type { TextObserver } from '../text/billing/charge-report.ts';
import { TokenCounter } from '../text/counting/token-counter.ts';
import { EmbeddingsGateway } from '../text/embeddings/gateway.ts';
import { TextGateway } from '../text/gateway.ts';
import type { Parts } from './start.ts';

/** Milliseconds between two lines of the log about the cache. */
const FAULT_LOG_INTERVAL_MS = 60_000;

/** The gateways of text and embeddings, and the counter of tokens. */
export function createText({
  state,
  store,
  upstream,
  textThreads,
  closers,
  routingObserver,
  log,
  metrics,
}: Parts) {
  /** Counts the usage of requests, and logs its excesses. */
  const observer: TextObserver = {
    ...routingObserver,
    used: (model, usage) => metrics.observeTokens(model, usage),
    cached: (model, result) => metrics.observeCache(model, result),
    exceeded: (excess) =>
      log.warn(
        excess,
        'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
      ),
  };
  const config = () => state.config;
  const sizeOf = (model: string) => cacheSizeOf(state.config, model);
  let faultAt = -Infinity;
  const cache = new ExactCache({
    storage:
      store.cache ?? new CacheFolder(join(state.config.dataDir, 'cache'), sizeOf, () => store.now),
    isShared: store.cache !== null,
    upstream,
    now: () => store.now,
    sizeOf,
    mayTrim: () => store.nodes.isLeader(),
    onFault: (error) => {
      if (performance.now() < faultAt + FAULT_LOG_INTERVAL_MS) return;
      faultAt = performance.now();
      log.warn({ err: error }, 'cached answers cannot be read or written');
    },
  });
  closers.add(() => cache.close());
  return {
    text: new TextGateway({
      config,
      store,
      upstream,
      cache,
      observer,
      admitPrompt: (prompt, param, client) => screenPrompt(textThreads, prompt, param, { client }),
    }),
    embeddings: new EmbeddingsGateway({ config, store, upstream, cache, observer }),
    tokenCounter: new TokenCounter({ config, upstream, textThreads, observer: routingObserver }),
  };
}
