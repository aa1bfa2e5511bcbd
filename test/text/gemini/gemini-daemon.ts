import { type GatewayDaemon, gatewayConfig, sharedGateway } from '../gateway-daemon.ts';

/** The daemon's key for the upstream, which only that may see. */
export const GEMINI_KEY = 'AIza-upstream-gemini-5ecre7';

/**
 * A gateway with two models of gemini beside those of the other formats.
 *
 * @param more settings of all models
 */
export function geminiDaemon(more: object = {}): () => GatewayDaemon {
  return sharedGateway((url) => {
    // biome-ignore lint/suspicious/noExplicitAny: sections of a configuration
    const { providers, models } = gatewayConfig(url) as any;
    const baseUrl = url.replace(/\/v1$/, '/v1beta');
    const { routes: _, ...about } = models['to-chat'];
    const to = (model: string, provider = 'gemini') => ({
      ...about,
      routes: [{ provider, model }],
    });
    return {
      providers: {
        ...providers,
        gemini: { kind: 'gemini', baseUrl, apiKey: GEMINI_KEY },
        sandbox: { kind: 'sandbox' },
        rival: { kind: 'gemini', baseUrl, apiKey: 'AIza-rival-gemini-5ecre7' },
      },
      models: withSettings(more, {
        ...models,
        'to-gemini': to('gemini-3-pro'),
        'to-gemini-2': to('gemini-2.5-pro'),
        'to-rival': to('gemini-3-pro', 'rival'),
        'sandbox-chat': to('chat', 'sandbox'),
      }),
    };
  });
}

function withSettings(more: object, models: Readonly<Record<string, object>>): object {
  const entries = Object.entries(models).map(([id, model]) => [id, { ...model, ...more }]);
  return Object.fromEntries(entries);
}
