import { join } from 'node:path';
import { cacheSizesOf } from '../config/catalog/catalog.ts';
import { CacheFolder } from '../exchanges/cache/cache-folder.ts';
import { ExactCache } from '../exchanges/cache/exact-cache.ts';
import { screenPrompt } from '../safety/prompt-screening.ts';
import { BackgroundResponses } from '../text/background/background.ts';
import type { TextObserver } from '../text/billing/charge-report.ts';
import { TokenCounter } from '../text/counting/token-counter.ts';
import { TextGateway } from '../text/gateway.ts';
import { RowGateway } from '../text/rows/gateway.ts';
import { type Parts, warnRarely } from './start.ts';

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
    cached: (model, result) => metrics.cacheResults.inc({ model, result }),
    exceeded: (excess) =>
      log.warn(
        excess,
        'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
      ),
  };
  const config = () => state.config;
  const sizes = () => cacheSizesOf(state.config);
  const cache = new ExactCache({
    storage:
      store.cache ?? new CacheFolder(join(state.config.dataDir, 'cache'), sizes, () => store.now),
    isShared: store.cache !== null,
    upstream,
    now: () => store.now,
    sizes,
    mayTrim: () => store.nodes.isLeader(),
    onFault: warnRarely(log, 'cached answers cannot be read or written'),
  });
  closers.add(() => cache.close());
  const text = new TextGateway({
    config,
    store,
    upstream,
    cache,
    observer,
    admitPrompt: (prompt, param, client) => screenPrompt(textThreads, prompt, param, { client }),
  });
  const onFault = warnRarely(log, 'a response in the background waits for the store');
  const background = new BackgroundResponses({ text, store, upstream, config, onFault });
  closers.add(() => background.close());
  return {
    text,
    background,
    rows: new RowGateway({ config, store, upstream, cache, observer }),
    tokenCounter: new TokenCounter({ config, upstream, textThreads, observer: routingObserver }),
  };
}
