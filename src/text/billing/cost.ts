import type { TextModel } from '../../config/catalog/catalog.ts';
import { MAX_CREDITS } from '../../store/credits.ts';
import type { Usage } from '../canonical/events.ts';
import { inputPartsOf } from './usage.ts';

/** Prices are micro-credits per this number of tokens. */
const PRICED_TOKENS = 1_000_000;

/** Tokens and their price, in micro-credits per million. */
type Item = readonly [tokens: number, price: number];

/**
 * Micro-credits of all items together, rounded up, so that a priced request never costs 0. At most
 * MAX_CREDITS: no account has more, so that a hold of that sum is refused all the same.
 */
function sumOf(items: readonly Item[]): number {
  let sum = 0;
  for (const [tokens, price] of items) sum += tokens * price;
  if (Number.isSafeInteger(sum)) return Math.min(Math.ceil(sum / PRICED_TOKENS), MAX_CREDITS);
  // Doubles are not exact above 2^53, which ten million tokens reach at 900 credits per million.
  const exact = items.reduce(
    (total, [tokens, price]) => total + BigInt(tokens) * BigInt(price),
    0n,
  );
  const micro = (exact + BigInt(PRICED_TOKENS) - 1n) / BigInt(PRICED_TOKENS);
  return Math.min(Number(micro), MAX_CREDITS);
}

type Price = TextModel['price'];
type PricedModel = Pick<TextModel, 'price'>;

/** The prices of each tier that a request of up to `input` tokens can be in, the highest last. */
function tiersUpTo(price: Price, input: number): readonly Price[] {
  if (price.tiers === undefined) return [price];
  let reached = price;
  const tiers = [reached];
  for (const { above, ...prices } of price.tiers) {
    if (input <= above) break;
    const { input: lower, output } = reached;
    reached = {
      ...reached,
      ...prices,
      input: prices.input ?? lower,
      output: prices.output ?? output,
    };
    tiers.push(reached);
  }
  return tiers;
}

/** Usage of one request to a provider, or of an answer from the exact cache. */
export type PricedUsage = Usage & { readonly isHit?: boolean };

/** The items of one request, all of them at the prices of the tier that its input is in. */
function itemsOf({ price }: PricedModel, usage: PricedUsage): readonly Item[] {
  if (usage.isHit) return [[usage.input + usage.output, price.cacheHit ?? 0]];
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = tiersUpTo(price, usage.input).at(
    -1,
  )!;
  const { plain, cached, written, writtenForAnHour } = inputPartsOf(usage);
  const writePrice = cacheWrite ?? input;
  return [
    [plain, input],
    [cached, cachedInput ?? input],
    [written, writePrice],
    [writtenForAnHour, cacheWrite1h ?? writePrice],
    [usage.output, output],
  ];
}

/** Micro-credits of the usages of some requests. */
export function costOf(model: PricedModel, usages: readonly PricedUsage[]): number {
  const [only] = usages;
  return sumOf(
    usages.length === 1 ? itemsOf(model, only!) : usages.flatMap((usage) => itemsOf(model, usage)),
  );
}

/** The largest numbers of tokens that are charged for a request of a client. */
export interface Bounds {
  /** Input of each of the requests to upstreams. */
  readonly inputs: readonly number[];
  /** Output of all of them together. */
  readonly output: number;
}

/** Micro-credits of the largest charge within bounds: everything at the highest price of any tier in reach. */
export function largestCost({ price }: PricedModel, { inputs, output }: Bounds): number {
  const items: Item[] = [];
  const { cacheHit = 0 } = price;
  let outputPrice = cacheHit;
  for (const tokens of inputs) {
    let highest = cacheHit;
    for (const tier of tiersUpTo(price, tokens)) {
      const { input, cachedInput = 0, cacheWrite = 0, cacheWrite1h = 0 } = tier;
      highest = Math.max(highest, input, cachedInput, cacheWrite, cacheWrite1h);
      outputPrice = Math.max(outputPrice, tier.output);
    }
    items.push([tokens, highest]);
  }
  items.push([output, outputPrice]);
  return sumOf(items);
}
