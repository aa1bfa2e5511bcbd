import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TextModel } from '../../../src/config/catalog.ts';
import { MAX_CREDITS } from '../../../src/store/credits.ts';
import { costOf, largestCost } from '../../../src/text/billing/cost.ts';
import { runs } from '../../runs.ts';

const credits = fc.oneof(fc.nat(100_000_000), fc.nat(1e15));
const price = fc.record(
  {
    input: credits,
    output: credits,
    cachedInput: credits,
    cacheWrite: credits,
    cacheWrite1h: credits,
  },
  { requiredKeys: ['input', 'output'] },
);
const count = fc.oneof(fc.nat(2000), fc.nat(10_000_000));
const usage = fc.record({
  input: count,
  output: count,
  cachedInput: count,
  cacheWrite: count,
  cacheWrite1h: count,
  reasoning: fc.constant(null),
});

it('costs are exact and within the largest cost, for any prices and usage', () => {
  fc.assert(
    fc.property(price, usage, (prices, used) => {
      const model = { price: prices } as unknown as TextModel;
      const cost = costOf(model, used);
      const most = largestCost(model, used);
      expect(cost).toBeLessThanOrEqual(most);
      const cached = Math.min(used.cachedInput, used.input);
      const written = Math.min(used.cacheWrite, used.input - cached);
      const hour = Math.min(used.cacheWrite1h, written);
      const write = prices.cacheWrite ?? prices.input;
      const sum =
        BigInt(used.input - cached - written) * BigInt(prices.input) +
        BigInt(cached) * BigInt(prices.cachedInput ?? prices.input) +
        BigInt(written - hour) * BigInt(write) +
        BigInt(hour) * BigInt(prices.cacheWrite1h ?? write) +
        BigInt(used.output) * BigInt(prices.output);
      const exact = Number((sum + 999_999n) / 1_000_000n);
      expect(cost).toBe(Math.min(exact, MAX_CREDITS));
    }),
    { numRuns: runs(300) },
  );
});
