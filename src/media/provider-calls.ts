import { nameOf, upstreamModelOf } from '../config/catalog/model-names.ts';
import type { Config, Model, Provider } from '../config/settings/schema.ts';
import { clientPool, type ImagePool, MAX_WAITING } from '../operations/pool/pool.ts';
import { longestTotal, timeoutsOf } from '../routing/retry-policy.ts';
import { routeCandidates, unknownToProvider } from '../routing/route-candidates.ts';
import type { Routing } from '../routing/routing.ts';
import { newId } from '../store/identifier.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import type { TextThreads } from '../threads/text-threads.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { MediaProvider, ProviderContext } from './provider/provider.ts';
import { providerOf } from './providers/providers.ts';

export interface ProviderCallsOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly textThreads: TextThreads;
  readonly routing: Routing;
}

/** A model with a price for each request. */
type PricedModel = Extract<Model, { readonly type: 'moderation' | 'transcription' }>;

export interface ProviderCall {
  readonly holder: KeyHolder;
  readonly requestId: string;
  /** Public identifier of the model. */
  readonly id: string;
  /** The part of the requested name that its wildcard stands for; null without one. */
  readonly part: string | null;
  readonly model: PricedModel;
  /** Prefix of the identifier that the provider gets. */
  readonly prefix: string;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Runs calls that are answered at once, without a task, by the routes of a model, and charges for them. */
export class ProviderCalls {
  readonly #options: ProviderCallsOptions;

  constructor(options: ProviderCallsOptions) {
    this.#options = options;
  }

  /**
   * Charges the price of a request for an answer, also where the client disconnected after a provider
   * had got the request.
   *
   * @throws Failure
   */
  async run<Answer>(
    { holder, requestId, id, part, model, prefix, signal }: ProviderCall,
    attempt: (provider: MediaProvider, context: ProviderContext) => Promise<Answer>,
  ): Promise<Answer> {
    const { store, routing, upstream } = this.#options;
    const config = this.#options.config();
    const { account, key } = holder;
    const pool = clientPool(this.#options.pool, { client: account.id, maxWaiting: MAX_WAITING });
    const { perRequest } = model.price;
    const reservation = await store.reserve(account.id, key.id, perRequest);
    const charge = () =>
      store.settle(reservation, { model: id, counts: { requests: 1 }, charge: perRequest });
    const recordError = () =>
      store.settle(reservation, { model: id, counts: { requests: 0, errors: 1 }, charge: 0 });
    const deadline = performance.now() + longestTotal(config, model.routes);
    let isSent = false;
    try {
      const answer = await routing.run({
        model: id,
        accountId: account.id,
        logContext: { requestId },
        candidates: routeCandidates(model),
        providers: config.providers,
        signal,
        deadline,
        attempt: async ({ route }, settings: Provider) => {
          return attempt(providerOf(settings.kind), {
            settings,
            model: upstreamModelOf(route, part),
            idempotencyKey: newId(prefix),
            upstream,
            pool,
            textThreads: this.#options.textThreads.forClient(account.id),
            timeouts: remainingTimeouts(config, settings, deadline),
            signal,
            savedState: null,
            saveState: async () => {},
            beforeBillableRequest: async () => {
              isSent = true;
            },
          }).catch((error: unknown) => {
            if (!signal.aborted) isSent = false;
            throw error;
          });
        },
      });
      await charge();
      return answer;
    } catch (error) {
      if (signal.aborted && isSent) await charge();
      else if (signal.aborted) await store.release(reservation);
      else await recordError();
      throw part === null ? error : unknownToProvider(error, id, nameOf(id, part));
    }
  }
}

function remainingTimeouts(config: Config, settings: Provider, deadline: number) {
  const timeouts = timeoutsOf(config, settings);
  const remaining = Math.min(deadline - performance.now(), timeouts.total);
  return { ...timeouts, firstByte: 0, total: Math.max(1, remaining) };
}
