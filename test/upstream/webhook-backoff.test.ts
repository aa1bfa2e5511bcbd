import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryDelay } from '../../src/upstream/webhook.ts';

const HOUR = 3_600_000;

function allWaits(random: () => number): number[] {
  const waits: number[] = [];
  for (
    let wait = retryDelay(1, random());
    wait !== null;
    wait = retryDelay(waits.length + 1, random())
  ) {
    waits.push(wait);
  }
  return waits;
}

test('delays between attempts grow and add up to a day', () => {
  const waits = allWaits(() => 0.5);
  expect(waits[0]).toBe(5000);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  const day = waits.reduce((sum, wait) => sum + wait, 0);
  expect(day / HOUR).toBeGreaterThan(23);
  expect(day / HOUR).toBeLessThanOrEqual(24);
});

test('jitter changes each delay by a tenth at most', () => {
  const middle = allWaits(() => 0.5);
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (random) => {
      const waits = allWaits(() => random);
      for (const [index, wait] of waits.entries()) {
        expect(Math.abs(wait / middle[index]! - 1)).toBeLessThan(0.1001);
      }
      expect(waits).toHaveLength(middle.length);
    }),
  );
  expect(retryDelay(1, 0)).not.toBe(retryDelay(1, 1));
});
