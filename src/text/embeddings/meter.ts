import type { EmbeddingModel } from '../../config/catalog/catalog.ts';
import type { Reservation } from '../../store/budgets.ts';
import type { KeyHolder, Store } from '../../store/store.ts';
import { costOf, largestCost } from '../billing/cost.ts';
import type { Charge } from '../billing/meter.ts';
import type { Usage } from '../canonical/events.ts';
import type { InputTokens } from './request.ts';

/** Reserves credits for one request of embeddings, and charges them when it has ended. */
export class EmbeddingsMeter {
  readonly #store: Store;
  readonly #holder: KeyHolder;
  readonly #id: string;
  readonly #price: { readonly input: number; readonly output: 0 };
  readonly #tokens: InputTokens;
  readonly #trustUpstream: boolean;
  #reservation: Reservation | null = null;

  private constructor(
    store: Store,
    holder: KeyHolder,
    { id, model, tokens, trustUpstream }: MeterOptions,
  ) {
    this.#store = store;
    this.#holder = holder;
    this.#id = id;
    this.#price = { input: model.price.input, output: 0 };
    this.#tokens = tokens;
    this.#trustUpstream = trustUpstream;
  }

  /** @throws Failure insufficient_quota */
  static async open(
    store: Store,
    holder: KeyHolder,
    options: MeterOptions,
  ): Promise<EmbeddingsMeter> {
    const meter = new EmbeddingsMeter(store, holder, options);
    const price = meter.#price;
    if (price.input === 0) return meter;
    const amount = largestCost({ price }, { inputs: [options.tokens.most], output: 0 });
    meter.#reservation = await store.reserve(holder.account.id, holder.key.id, amount);
    return meter;
  }

  /** Charges the reported tokens; without a report, the estimated ones. */
  async settle(reported: number | null): Promise<Charge> {
    const all = reported ?? this.#tokens.likely;
    const isLimited = this.#reservation !== null && !this.#trustUpstream;
    const input = isLimited ? Math.min(all, this.#tokens.most) : all;
    const used = usageOf(input);
    const { key, account } = this.#holder;
    const charge = await this.#store.settle(
      this.#reservation ?? { accountId: account.id, keyId: key.id },
      {
        model: this.#id,
        counts: { requests: 1, inputTokens: input, cachedInputTokens: 0, outputTokens: 0 },
        charge: costOf({ price: this.#price }, [used]),
      },
    );
    return { used, charge, excess: input < all ? usageOf(all) : null };
  }

  /** Releases the reservation without a charge. */
  async release(): Promise<void> {
    if (this.#reservation) await this.#store.release(this.#reservation);
  }
}

export interface MeterOptions {
  /** The model's public identifier. */
  readonly id: string;
  readonly model: EmbeddingModel;
  readonly tokens: InputTokens;
  /** Whether reported usage above what a request can have is charged. */
  readonly trustUpstream: boolean;
}

function usageOf(input: number): Usage {
  return { input, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: null };
}
