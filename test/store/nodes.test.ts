import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shareOf } from '../../src/store/nodes.ts';
import { setNodes } from '../engines/nodes.ts';

test('shares of all nodes add up to the limit, or to one a node beyond it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 1, max: 64 }),
      (limit, n) => {
        const shares = Array.from({ length: n }, (_, rank) => shareOf(limit, setNodes(n, rank)));
        expect(shares.reduce((sum, share) => sum + share)).toBe(Math.max(limit, n));
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      },
    ),
  );
});
