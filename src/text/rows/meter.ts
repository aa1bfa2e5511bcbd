import type { KeyHolder } from '../../store/store.ts';
import { costOf, largestCost } from '../billing/cost.ts';
import type { Charge, Ledger } from '../billing/meter.ts';
import { NO_USAGE } from '../canonical/events.ts';
import type { Estimates, RowAnswer } from './row.ts';

interface MeterOptions {
  /** The model's public identifier. */
  readonly id: string;
  /** Micro-credits: per million tokens, and per search. */
  readonly price: {
    readonly input: number;
    readonly perSearch?: number;
    readonly cacheHit?: number | undefined;
  };
  readonly estimates: Estimates;
  /** Tags of the request, as one text. */
  readonly tags: string;
  /** Whether reported usage above what a request can have is charged. */
  readonly trustUpstream: boolean;
}

/**
 * Reserves credits for one request, which are charged or released when it has ended.
 *
 * @throws Failure insufficient_quota
 */
export async function reserveForRow(
  store: Ledger,
  { account, key }: KeyHolder,
  { id, price: { perSearch = 0, ...prices }, estimates, tags, trustUpstream }: MeterOptions,
) {
  const { tokens, searches = { likely: 0, most: 0 } } = estimates;
  const price = { ...prices, output: 0 };
  const most = largestCost({ price }, { inputs: [tokens.most], output: 0 });
  const isFree = price.input === 0 && !price.cacheHit && perSearch === 0;
  const amount = most + searches.most * perSearch;
  const reservation = isFree ? null : await store.reserve(account.id, key.id, amount);
  const limited = (count: number, limit: number) =>
    reservation !== null && !trustUpstream ? Math.min(count, limit) : count;
  return {
    /** Charges what the provider has reported; without a report, the estimate. */
    async settle(
      reported: RowAnswer | null,
      isHit = false,
    ): Promise<Charge & { readonly searches: number }> {
      const all = reported?.tokens ?? tokens.likely;
      const input = limited(all, tokens.most);
      const searched = limited(reported?.searches ?? searches.likely, searches.most);
      const used = { ...NO_USAGE, input };
      const charge = await store.settle(reservation ?? { accountId: account.id, keyId: key.id }, {
        model: id,
        tags,
        counts: {
          ...{ requests: 1, inputTokens: input, cachedInputTokens: 0, outputTokens: 0 },
          cacheHits: isHit ? 1 : 0,
        },
        charge: costOf({ price }, [{ ...used, isHit }]) + (isHit ? 0 : searched * perSearch),
      });
      const excess = input < all ? { ...NO_USAGE, input: all } : null;
      return { used, charge, excess, searches: searched };
    },
    async release(): Promise<void> {
      if (reservation) await store.release(reservation);
    },
  };
}
