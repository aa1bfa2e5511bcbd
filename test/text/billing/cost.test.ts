import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TextModel } from '../../../src/config/catalog/catalog.ts';
import { MAX_CREDITS } from '../../../src/store/credits.ts';
import { costOf, largestCost } from '../../../src/text/billing/cost.ts';
import type { Usage } from '../../../src/text/canonical/events.ts';
import { runs } from '../../runs.ts';

type Price = TextModel['price'];

const credits = fc.oneof(fc.nat(100_000_000), fc.nat(1e15));
const prices = {
  input: credits,
  output: credits,
  cachedInput: credits,
  cacheWrite: credits,
  cacheWrite1h: credits,
};
const tiers = fc
  .uniqueArray(fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.constantFrom(200_000, 1_000_000)), {
    maxLength: 4,
  })
  .chain((bounds) =>
    fc.tuple(
      ...bounds
        .sort((one, other) => one - other)
        .map((above) =>
          fc.record({ above: fc.constant(above), ...prices }, { requiredKeys: ['above'] }),
        ),
    ),
  );
const price = fc.record(
  { ...prices, tiers },
  { requiredKeys: ['input', 'output'] },
) as fc.Arbitrary<Price>;
const count = fc.oneof(fc.nat(2000), fc.nat(10_000_000));
const usage = fc.record({
  input: count,
  output: count,
  cachedInput: count,
  cacheWrite: count,
  cacheWrite1h: count,
  reasoning: fc.constant(null),
});

/** The sum of tokens times prices, by the rules as the settings describe them. */
function exactSum({ tiers: all = [], ...base }: Price, used: Usage): bigint {
  const reached = all.filter(({ above }) => used.input > above);
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = Object.assign(
    {},
    base,
    ...reached,
  );
  const cached = Math.min(used.cachedInput, used.input);
  const written = Math.min(used.cacheWrite, used.input - cached);
  const hour = Math.min(used.cacheWrite1h ?? 0, written);
  const write = cacheWrite ?? input;
  return (
    BigInt(used.input - cached - written) * BigInt(input) +
    BigInt(cached) * BigInt(cachedInput ?? input) +
    BigInt(written - hour) * BigInt(write) +
    BigInt(hour) * BigInt(cacheWrite1h ?? write) +
    BigInt(used.output) * BigInt(output)
  );
}

it('costs of requests are exact, each by its own tier, and within the largest cost', () => {
  fc.assert(
    fc.property(price, fc.array(usage, { minLength: 1, maxLength: 4 }), (one, usages) => {
      const model = { price: one };
      const cost = costOf(model, usages);
      const sum = usages.reduce((total, used) => total + exactSum(one, used), 0n);
      const exact = (sum + 999_999n) / 1_000_000n;
      expect(cost).toBe(exact > MAX_CREDITS ? MAX_CREDITS : Number(exact));
      const inputs = usages.map(({ input }) => input);
      const output = usages.reduce((total, used) => total + used.output, 0);
      expect(cost).toBeLessThanOrEqual(largestCost(model, { inputs, output }));
      // A hold for more covers all that is less.
      const more = { inputs: inputs.map((input) => input + 1), output: output + 1 };
      expect(largestCost(model, more)).toBeGreaterThanOrEqual(
        largestCost(model, { inputs, output }),
      );
    }),
    { numRuns: runs(300) },
  );
});

const TIERED: Price = {
  input: 1_000_000,
  cachedInput: 100_000,
  output: 5_000_000,
  tiers: [
    { above: 200_000, input: 2_000_000, output: 7_000_000 },
    { above: 1_000_000, cachedInput: 300_000 },
  ],
};

it.each([
  ['at the bound of a tier: below it', 200_000, 0, 200_000 + 5],
  ['one token above: the whole request', 200_001, 0, 2 * 200_001 + 7],
  ['a price that the tier does not set: as below', 200_001, 100_001, 2 * 100_000 + 10_001 + 7],
  ['in the second tier: with prices of the first', 1_100_000, 100_000, 2e6 + 30_000 + 7],
])('a request is charged %s', (_, input, cachedInput, expected) => {
  const used = { input, cachedInput, output: 1, cacheWrite: 0, reasoning: null };
  expect(costOf({ price: TIERED }, [used])).toBe(Math.ceil(expected));
});

it('two requests of one client are priced by the input of each, not of both', () => {
  const used = { input: 150_000, cachedInput: 0, output: 1, cacheWrite: 0, reasoning: null };
  expect(costOf({ price: TIERED }, [used, used])).toBe(2 * (150_000 + 5));
  expect(largestCost({ price: TIERED }, { inputs: [150_000, 150_000], output: 2 })).toBe(
    2 * (150_000 + 5),
  );
});

it('the hold has the highest price of any tier in reach, also where a higher tier is cheaper', () => {
  const cheaper = { ...TIERED, tiers: [{ above: 10, input: 500_000, output: 1_000_000 }] };
  expect(largestCost({ price: cheaper }, { inputs: [1000], output: 10 })).toBe(1000 + 50);
});
