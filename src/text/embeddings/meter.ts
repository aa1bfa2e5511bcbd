import type { EmbeddingModel } from '../../config/catalog/catalog.ts';
import type { KeyHolder, Store } from '../../store/store.ts';
import { costOf, largestCost } from '../billing/cost.ts';
import type { Charge } from '../billing/meter.ts';
import { NO_USAGE } from '../billing/usage.ts';
import type { InputTokens } from './request.ts';

export interface MeterOptions {
  /** The model's public identifier. */
  readonly id: string;
  readonly model: EmbeddingModel;
  readonly tokens: InputTokens;
  /** Tags of the request, as one text. */
  readonly tags: string;
  /** Whether reported usage above what a request can have is charged. */
  readonly trustUpstream: boolean;
}

/**
 * Reserves credits for one request of embeddings, which are charged or released when it has ended.
 *
 * @throws Failure insufficient_quota
 */
export async function reserveForEmbeddings(
  store: Store,
  { account, key }: KeyHolder,
  { id, model, tokens, tags, trustUpstream }: MeterOptions,
) {
  const price = { ...model.price, output: 0 };
  const amount = largestCost({ price }, { inputs: [tokens.most], output: 0 });
  const isFree = price.input === 0 && !price.cacheHit;
  const reservation = isFree ? null : await store.reserve(account.id, key.id, amount);
  return {
    /** Charges the reported tokens; without a report, the estimated ones. */
    async settle(reported: number | null, isHit = false): Promise<Charge> {
      const all = reported ?? tokens.likely;
      const isLimited = reservation !== null && !trustUpstream;
      const input = isLimited ? Math.min(all, tokens.most) : all;
      const used = { ...NO_USAGE, input };
      const charge = await store.settle(reservation ?? { accountId: account.id, keyId: key.id }, {
        model: id,
        tags,
        counts: {
          ...{ requests: 1, inputTokens: input, cachedInputTokens: 0, outputTokens: 0 },
          cacheHits: isHit ? 1 : 0,
        },
        charge: costOf({ price }, [{ ...used, isHit }]),
      });
      return { used, charge, excess: input < all ? { ...NO_USAGE, input: all } : null };
    },
    async release(): Promise<void> {
      if (reservation) await store.release(reservation);
    },
  };
}
