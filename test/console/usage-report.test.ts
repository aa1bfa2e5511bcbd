import { describe, expect, it } from 'vitest';
import {
  cachedShare,
  dimensionOf,
  pathOf,
  placeOf,
  questionOf,
  rowName,
  seriesOf,
  sumOf,
} from '../../src/console/views/usage/report.ts';
import type { UsageRow } from '../../src/http/routes/account/usage.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const question = (query: string, isOwner = false) =>
  questionOf(new URLSearchParams(query), isOwner, NOW);

const row = (fields: Partial<UsageRow>): UsageRow => ({
  ...{ requests: 0, errors: 0, outputs: 0, credits: 0, input_tokens: 0, output_tokens: 0 },
  cache_hits: 0,
  ...{ cached_input_tokens: 0, cache_write_tokens: 0, cache_write_1h_tokens: 0 },
  ...fields,
});

describe('the question of an address', () => {
  const month = { from: '2026-01-31', to: '2026-03-01' };

  it.each([
    ['', { ...month, by: 'model', all: false }],
    ['from=2026-02-01&to=2026-02-03&by=day', { from: '2026-02-01', to: '2026-02-03', by: 'day' }],
    ['from=2026-02-03&to=2026-02-01', month],
    ['from=yesterday&to=2026-02-01', month],
    ['by=account', { by: 'model' }],
    ['by=__proto__', { by: 'model' }],
    ['accounts=all', { by: 'model', all: false }],
  ])('%j is %o', (query, expected) => {
    expect(question(query)).toMatchObject(expected);
  });

  it('may have all accounts for the owner', () => {
    expect(question('accounts=all', true)).toMatchObject({ by: 'account', all: true });
    expect(question('accounts=all&by=key', true)).toMatchObject({ by: 'key', all: true });
  });

  it('is the same after its place is opened', () => {
    for (const isOwner of [false, true]) {
      const asked = question('from=2026-02-01&to=2026-02-03&by=key&accounts=all', isOwner);
      const [, query] = placeOf(asked).split('?');
      expect(question(query!, isOwner)).toEqual(asked);
    }
  });

  it('has a path on the server', () => {
    const period = 'from=2026-02-01&to=2026-02-03';
    expect(pathOf(question(period), 'model')).toBe(`v1/account/usage?by=model&${period}`);
    expect(dimensionOf(question('by=tag:feature'))).toBe('tag:feature');
    expect(pathOf(question(`${period}&accounts=all`, true), 'account', 'csv')).toBe(
      `v1/admin/usage?by=account&${period}&format=csv`,
    );
  });
});

it('a series has a number for each day, also for those without usage', () => {
  const rows = [
    row({ day: '2026-02-27', credits: 1, input_tokens: 2, output_tokens: 3 }),
    row({ day: '2026-03-01', credits: 4 }),
  ];
  const period = { from: '2026-02-26', to: '2026-03-01' };
  const { times, series } = seriesOf(rows, period, 'credits');
  const start = Date.parse(period.from) / 1000;
  expect(times).toEqual([0, 1, 2, 3].map((day) => start + day * 86_400));
  expect(series).toEqual([{ name: 'Credits', values: [0, 1, 0, 4] }]);
  expect(seriesOf(rows, period, 'tokens').series[0]!.values).toEqual([0, 5, 0, 0]);
  const all = seriesOf([], { from: '0001-01-01', to: '9999-12-31' }, 'requests');
  expect(all.times).toHaveLength(366);
});

it('a stack has the largest parts of a dimension, and the others together', () => {
  const period = { from: '2026-02-26', to: '2026-02-27' };
  const rows = Array.from({ length: 9 }, (_, index) => {
    const day = index % 2 === 0 ? period.from : period.to;
    return row({ day, model: `m${index}`, credits: index + 1 });
  });
  const { series } = seriesOf(rows, period, 'credits', 'model');
  expect(series.map(({ name }) => name)).toEqual(['m8', 'm7', 'm6', 'm5', 'm4', 'm3', 'Others']);
  expect(series[0]!.values).toEqual([9, 0]);
  expect(series.at(-1)!.values).toEqual([1 + 3, 2]);
});

it('sums, shares and names of rows', () => {
  const rows = [row({ input_tokens: 10, cached_input_tokens: 5 }), row({ input_tokens: 30 })];
  expect(cachedShare(sumOf(rows))).toBe(0.125);
  expect(cachedShare(sumOf([]))).toBeNull();
  expect(rowName(row({ key_id: 'key_1', key_name: 'web' }), 'key')).toBe('web');
  expect(rowName(row({ key_id: null, key_name: null }), 'key')).toBe('removed key');
  expect(rowName(row({ team_id: null, team_name: null }), 'team')).toBe('no team');
});
