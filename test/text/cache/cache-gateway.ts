import { type GatewayDaemon, gatewayConfig, gatewayDaemon } from '../gateway-daemon.ts';
import type { FormatName } from '../mock-upstream.ts';
import { PATHS, plainBody } from '../raw.ts';

/** Credits per million tokens of an answer from the cache, and of others. */
export const HIT_PRICE = 50;

export const FORMATS: readonly FormatName[] = ['chat', 'responses', 'messages', 'gemini'];

/** The configuration of a gateway whose models all have a cache, but for `plain-chat`. */
export function cacheConfig(url: string, more: object = {}): object {
  // biome-ignore lint/suspicious/noExplicitAny: sections of a configuration
  const { models, ...others } = gatewayConfig(url) as any;
  const cached = (model: { readonly price: object }, changes: object = {}) => ({
    ...model,
    price: { ...model.price, cacheHit: HIT_PRICE },
    cache: { ttl: '1h' },
    ...changes,
  });
  const vectors = {
    type: 'embedding',
    routes: [{ provider: 'openai', model: 'vectors' }],
    price: { input: 1000 },
  };
  return {
    ...others,
    models: {
      'to-chat': cached(models['to-chat']),
      'to-responses': cached(models['to-responses']),
      'to-messages': cached(models['to-messages']),
      'to-gemini': cached(models['to-gemini']),
      'allows-responses': cached(models['allows-responses']),
      'allows-messages': cached(models['allows-messages']),
      small: cached(models['to-chat'], { cache: { ttl: '1h', maxSize: '1MB' } }),
      brief: cached(models['to-chat'], { cache: { ttl: '1ms' } }),
      'two-routes': cached(models['to-chat'], {
        routes: [models['to-chat'].routes[0], models['to-messages'].routes[0]],
      }),
      'plain-chat': models['to-chat'],
      vectors: cached(vectors),
    },
    ...more,
  };
}

export function cacheGateway(more: object = {}): () => GatewayDaemon {
  return gatewayDaemon((url) => cacheConfig(url, more));
}

/** The path and the body of a request of each format, which asks the provider to store nothing. */
export function requestOf(client: FormatName, model: string, stream: boolean, more: object = {}) {
  if (client !== 'gemini') {
    const stateless = client === 'responses' ? { store: false } : {};
    return [PATHS[client], plainBody(client, model, { stream, ...stateless, ...more })] as const;
  }
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  return [`/v1beta/models/${model}:${verb}`, { contents, ...more }] as const;
}

/** An answer without its cost: that of a hit is lower. */
export const withoutCost = (text: string) => text.replace(/,"oriel_cost":"[\d.]+"/g, '');

/** An answer without what is made for each: identifiers, dates and cost. */
export const comparable = (text: string) =>
  withoutCost(text)
    .replace(/\b(?:[a-z]{2,9}_|rs_oriel_|chatcmpl-|[a-z]{4}-)[0-9A-Za-z]{16,32}\b/g, 'ID')
    .replace(/"responseId":\s*"[^"]*"/g, '"responseId":"ID"')
    .replace(/"(created|created_at|completed_at|createTime)":\s*[\d.]+/g, '"$1":0');
