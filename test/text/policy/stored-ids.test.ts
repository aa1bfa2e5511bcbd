import { expect, it } from 'vitest';
import { StoredIds } from '../../../src/text/policy/stored-ids.ts';

const idsOf = (account: number, count: number) =>
  Array.from({ length: count }, (_, n) => `resp_${account}_${n}`);

it('keeps the newest 10,000 ids of each account apart from other accounts', () => {
  const given = new StoredIds();
  given.add('a', idsOf(1, 10_001));
  given.add('b', ['resp_b', 'x'.repeat(129)]);
  expect(given.has('a', 'resp_1_0')).toBe(false);
  expect(given.has('a', 'resp_1_1')).toBe(true);
  expect(given.has('a', 'resp_1_10000')).toBe(true);
  expect(given.has('b', 'resp_1_1')).toBe(false);
  expect(given.has('b', 'resp_b')).toBe(true);
  expect(given.has('b', 'x'.repeat(129))).toBe(false);
});

it('drops ids of the largest accounts above 200,000 in all', () => {
  const given = new StoredIds();
  given.add('small', ['resp_small']);
  for (let account = 0; account < 40; account += 1)
    given.add(`a${account}`, idsOf(account, 10_000));
  expect(given.has('small', 'resp_small')).toBe(true);
  let kept = 0;
  for (let account = 0; account < 40; account += 1) {
    for (const id of idsOf(account, 10_000)) if (given.has(`a${account}`, id)) kept += 1;
  }
  expect(kept).toBeLessThanOrEqual(200_000);
  expect(kept).toBeGreaterThan(100_000);
});
