import type { TextModel } from '../../config/catalog.ts';
import { MAX_CREDITS } from '../../store/credits.ts';
import type { Usage } from '../canonical.ts';

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

/** Micro-credits of a usage: input from caches and input written to caches at their own prices. */
export function costOf({ price }: Pick<TextModel, 'price'>, usage: Usage): number {
  const { input, output, cacheWrite1h = 0 } = usage;
  const cached = Math.min(usage.cachedInput, input);
  const written = Math.min(usage.cacheWrite, input - cached);
  const writtenForAnHour = Math.min(cacheWrite1h, written);
  const writePrice = price.cacheWrite ?? price.input;
  return sumOf([
    [input - cached - written, price.input],
    [cached, price.cachedInput ?? price.input],
    [written - writtenForAnHour, writePrice],
    [writtenForAnHour, price.cacheWrite1h ?? writePrice],
    [output, price.output],
  ]);
}

/** The largest numbers of tokens that are charged for a request. */
export interface Bounds {
  readonly input: number;
  readonly output: number;
}

/** Micro-credits of the largest charge within bounds: all of the input at its highest price. */
export function largestCost(
  { price }: Pick<TextModel, 'price'>,
  { input, output }: Bounds,
): number {
  const { cachedInput = 0, cacheWrite = 0, cacheWrite1h = 0 } = price;
  const highest = Math.max(price.input, cachedInput, cacheWrite, cacheWrite1h);
  return sumOf([
    [input, highest],
    [output, price.output],
  ]);
}
