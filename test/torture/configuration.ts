/** Keys of the daemon for its upstream, which must not appear anywhere else. */
export const UPSTREAM_KEYS = ['sk-torture-openai-5ecre7', 'sk-torture-anthropic-5ecre7'] as const;

/** Micro-credits of one steady response of the upstream: 18 tokens of input, 5 cached, 11 of output. */
export const STEADY_COST = 18 * 1000 + 5 * 100 + 11 * 10_000;

/** Micro-credits of one media result. */
export const MEDIA_COSTS = { image: 20_000, video: 100_000, audio: 10_000, moderation: 1000 };

const DIALECTS = ['chat', 'responses', 'messages'] as const;

/** `server.sendTimeout`, in milliseconds. The default of a minute is longer than a short run. */
export const SEND_TIMEOUT = 10_000;
/** `server.requestTimeout`, in milliseconds. */
export const REQUEST_TIMEOUT = 20_000;

/** `pool.memory`. The default depends on the machine, and the limit on resident memory needs a fixed one. */
const POOL_MEMORY = '2GB';

/**
 * Content of `oriel.yaml`. Limits are the defaults, except for times that a short run could not wait for, and
 * callbacks to a private address, which a test on one machine needs.
 *
 * @param url of the upstream
 * @param port of the daemon
 * @param models further models, by which a reload is seen
 */
export function configuration(url: string, port: number, models: object = {}): object {
  const [openai, anthropic] = UPSTREAM_KEYS;
  const text = (provider: string, dialect: string) => ({
    type: 'text',
    routes: [{ provider, model: `upstream-${dialect}`, dialect }],
    maxOutputTokens: 64_000,
    price: { input: 1000, cachedInput: 100, output: 10_000 },
  });
  const sandbox = (model: string) => [{ provider: 'sandbox', model }];
  return {
    server: { port, sendTimeout: `${SEND_TIMEOUT}ms`, requestTimeout: `${REQUEST_TIMEOUT}ms` },
    network: { allowPrivateAddresses: true },
    pool: { memory: POOL_MEMORY },
    routing: {
      retries: 1,
      // Tenants share the upstream: failures that some of them request must not open its circuit for all.
      cooldown: { after: 0 },
      timeouts: { connect: '2s', firstByte: '8s', idle: '8s', total: '15s' },
    },
    owner: { credits: 1_000_000 },
    // Providers of the torture fall silent; clients that leave must not hold connections for minutes.
    billing: { drainTimeout: '1s' },
    providers: {
      openai: { kind: 'openai', baseUrl: `${url}/v1`, apiKey: openai },
      anthropic: { kind: 'anthropic', baseUrl: `${url}/v1`, apiKey: anthropic },
      sandbox: { kind: 'sandbox' },
    },
    models: {
      ...Object.fromEntries(
        DIALECTS.map((dialect) => [
          `to-${dialect}`,
          text(dialect === 'messages' ? 'anthropic' : 'openai', dialect),
        ]),
      ),
      'sandbox-chat': {
        type: 'text',
        routes: sandbox('chat'),
        maxOutputTokens: 16_384,
        price: { input: 1, output: 4 },
      },
      image: { type: 'image', routes: sandbox('image'), price: { perImage: 0.02 } },
      native: {
        type: 'image',
        rules: 'native-size',
        routes: sandbox('image'),
        price: { perImage: 0.04 },
      },
      'free-image': { type: 'image', routes: sandbox('image'), price: { perImage: 0 } },
      video: { type: 'video', routes: sandbox('video'), price: { perVideo: 0.1 } },
      audio: { type: 'audio', routes: sandbox('audio'), price: { perRequest: 0.01 } },
      moderation: {
        type: 'moderation',
        routes: sandbox('moderation'),
        price: { perRequest: 0.001 },
      },
      ...models,
    },
  };
}
