import { expect, it } from 'vitest';
import { ProviderObjects } from '../../src/store/provider-objects.ts';

const idsOf = (account: number, count: number) =>
  Array.from({ length: count }, (_, n) => `resp_${account}_${n}`);

it('keeps the newest 10,000 ids of each account apart from other accounts', () => {
  const given = new ProviderObjects();
  given.add('a', idsOf(1, 10_001));
  given.add('b', ['resp_b', 'x'.repeat(129)]);
  expect(given.find('a', ['resp_1_0']).size).toBe(0);
  expect(given.find('a', ['resp_1_1']).size).toBe(1);
  expect(given.find('a', ['resp_1_10000']).size).toBe(1);
  expect(given.find('b', ['resp_1_1']).size).toBe(0);
  expect(given.find('b', ['resp_b']).size).toBe(1);
  expect(given.find('b', ['x'.repeat(129)]).size).toBe(0);
});

it('drops ids of the largest accounts above 200,000 in all', () => {
  const given = new ProviderObjects();
  given.add('small', ['resp_small']);
  for (let account = 0; account < 40; account += 1)
    given.add(`a${account}`, idsOf(account, 10_000));
  expect(given.find('small', ['resp_small']).size).toBe(1);
  let kept = 0;
  for (let account = 0; account < 40; account += 1) {
    kept += given.find(`a${account}`, idsOf(account, 10_000)).size;
  }
  expect(kept).toBeLessThanOrEqual(200_000);
  expect(kept).toBeGreaterThan(100_000);
});
