import { findModel } from '../config/catalog.ts';
import type { Config } from '../config/schema.ts';
import { clientPool, type ImagePool, MAX_WAITING } from '../operations/pool.ts';
import { routeCandidates } from '../routing/route-candidates.ts';
import type { Routing } from '../routing/routing.ts';
import { longestTotal, timeoutsOf } from '../routing/timeouts.ts';
import { newId } from '../store/identifier.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { ModerationAnswer } from './providers/provider.ts';
import { providerOf } from './providers/providers.ts';
import { defaultModerationModel, modelIdOf } from './requests/model.ts';
import { readModerationRequest } from './requests/moderation.ts';

interface ModeratorOptions {
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly pool: ImagePool;
  readonly routing: Routing;
}

export interface ModerationCall {
  readonly holder: KeyHolder;
  readonly requestId: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Answers moderation requests by the routes of a moderation model. */
export class Moderator {
  readonly #options: ModeratorOptions;

  constructor(options: ModeratorOptions) {
    this.#options = options;
  }

  /** @throws Failure */
  async moderate(
    { holder, requestId }: ModerationCall,
    fields: Fields,
    clientSignal: AbortSignal,
  ): Promise<ModerationAnswer> {
    const config = this.#options.config();
    const allowed = holder.key.models;
    const name =
      fields['model'] == null ? defaultModerationModel(config, allowed) : modelIdOf(fields);
    const { id, model } = findModel(config, name, allowed);
    const input = readModerationRequest({ ...fields, model: name }, model);
    if (model.type !== 'moderation') throw new TypeError(`${id} does not moderate`);
    const { store, routing } = this.#options;
    const { account, key } = holder;
    const context = { client: account.id, maxWaiting: MAX_WAITING };
    const pool = clientPool(this.#options.pool, context);
    const reservation = await store.reserve(account.id, key.id, model.price.perRequest);
    const deadline = performance.now() + longestTotal(config, model.routes);
    try {
      const answer = await routing.run({
        model: id,
        logContext: { requestId },
        candidates: routeCandidates(model),
        providers: config.providers,
        signal: clientSignal,
        deadline,
        attempt: ({ route }, settings) => {
          const timeouts = timeoutsOf(config, settings);
          return providerOf(settings.kind).moderate(input, {
            settings,
            model: route.model,
            idempotencyKey: newId('mod'),
            upstream: this.#options.upstream,
            pool,
            timeouts: {
              ...timeouts,
              firstByte: 0,
              total: Math.max(1, Math.min(deadline - performance.now(), timeouts.total)),
            },
            signal: clientSignal,
            savedState: null,
            saveState: async () => {},
            beforeBillableRequest: async () => {},
          });
        },
      });
      await store.settle(reservation, {
        model: id,
        counts: { requests: 1 },
        charge: model.price.perRequest,
      });
      return answer;
    } catch (error) {
      await store.release(reservation);
      throw error;
    }
  }
}
