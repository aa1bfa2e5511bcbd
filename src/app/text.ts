import { screenPrompt } from '../safety/prompt-screening.ts';
import type { TextObserver } from '../text/billing/charge-report.ts';
import { TokenCounter } from '../text/counting/token-counter.ts';
import { EmbeddingsGateway } from '../text/embeddings/gateway.ts';
import { TextGateway } from '../text/gateway.ts';
import type { Parts } from './start.ts';

/** The gateways of text and embeddings, and the counter of tokens. */
export function createText({
  state,
  store,
  upstream,
  textThreads,
  routingObserver,
  log,
  metrics,
}: Parts) {
  /** Counts the usage of requests, and logs its excesses. */
  const observer: TextObserver = {
    ...routingObserver,
    used: (model, usage) => metrics.observeTokens(model, usage),
    exceeded: (excess) =>
      log.warn(
        excess,
        'a provider reported more usage than the request allowed; the excess is not charged (billing.trustUpstream)',
      ),
  };
  const config = () => state.config;
  return {
    text: new TextGateway({
      config,
      store,
      upstream,
      observer,
      admitPrompt: (prompt, param, client) => screenPrompt(textThreads, prompt, param, { client }),
    }),
    embeddings: new EmbeddingsGateway({ config, store, upstream, observer }),
    tokenCounter: new TokenCounter({ config, upstream, textThreads, observer: routingObserver }),
  };
}
