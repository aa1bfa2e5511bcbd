import { expect, it } from 'vitest';
import { RequestSeries, SLOT_MS } from '../../../src/http/observability/request-series.ts';
import type { RequestRecord } from '../../../src/store/requests/record.ts';
import type { RequestLog } from '../../../src/store/requests/request-log.ts';

const START = 1000 * SLOT_MS;

const request = { account: 'a', isError: false, milliseconds: 10, charge: 5, at: START };

it('counts requests by account and quarter of an hour, with latencies within 26 %', () => {
  let now = START;
  const series = new RequestSeries(() => now);
  for (let index = 0; index < 95; index += 1) series.add(request);
  for (let index = 0; index < 5; index += 1) {
    series.add({ ...request, isError: true, milliseconds: 5000 });
  }
  series.add({ ...request, account: 'b', milliseconds: 1e9 });
  series.addCharge({ account: 'a', charge: 100, at: START });
  now += SLOT_MS;
  const { points, total } = series.read('a');
  expect(points).toHaveLength(96);
  expect(points.at(-1)).toMatchObject({ at: now, requests: 0, p50: null, p95: null });
  expect(points.at(-2)).toMatchObject({ at: START, requests: 100, errors: 5, charge: 600 });
  expect(total.p50).toBeGreaterThanOrEqual(10);
  expect(total.p50).toBeLessThanOrEqual(13);
  expect(total.p95).toBe(total.p50);
  series.add({ ...request, milliseconds: 5000, at: now });
  expect(series.read('a').total.p95).toBeGreaterThanOrEqual(5000);
  expect(series.read('b').total).toMatchObject({ requests: 1, errors: 0, charge: 5 });
  expect(series.read().total).toMatchObject({ requests: 102, errors: 5 });
  expect(series.read('c').total).toMatchObject({ requests: 0, p95: null });
});

it('counts requests by day, for thirty days', () => {
  const day = 86_400_000;
  let now = 1000 * day;
  const series = new RequestSeries(() => now);
  series.add({ ...request, at: now - 29 * day });
  series.add({ ...request, at: now - 30 * day });
  series.add({ ...request, milliseconds: 5000, at: now });
  const { points, total } = series.read('a', 'day');
  expect(points.map(({ requests }) => requests)).toEqual([1, ...Array(28).fill(0), 1]);
  expect(points.at(-1)!.p50).toBeGreaterThanOrEqual(5000);
  expect(total).toMatchObject({ at: now - 29 * day, requests: 2 });
  expect(series.read('a', 'day', 7).total.requests).toBe(1);
  now += day;
  expect(series.read('a', 'day').total.requests).toBe(1);
});

it('forgets what is older than a day, and the least used of too many accounts', () => {
  let now = START;
  const series = new RequestSeries(() => now);
  series.add(request);
  now += 95 * SLOT_MS;
  expect(series.read('a').total.requests).toBe(1);
  now += SLOT_MS;
  expect(series.read('a').total.requests).toBe(0);
  // An old request of a log that is read at the start.
  series.add(request);
  expect(series.read('a').total.requests).toBe(0);
  series.add({ ...request, at: now });
  for (let index = 0; index < 256; index += 1) {
    series.add({ ...request, account: `other-${index}`, at: now });
  }
  expect(series.read('a').total.requests).toBe(0);
  expect(series.read().total.requests).toBe(257);
});

it('continues with what the log has from before the start', async () => {
  const series = new RequestSeries(() => START);
  const record = {
    ...{ account: { id: 'a', name: 'A' }, route: '/v1/chat/completions', status: 200 },
    ...{ error: null, latency_ms: 10, credits: 0.000005, ended_ms: START - SLOT_MS, number: 3 },
  } as RequestRecord;
  const error = { type: 'unknown', code: null, message: 'failed' };
  const pages = [
    [record, { ...record, status: 502 }, { ...record, status: 499, error }],
    [
      { ...record, route: '/v1/admin/keys/create' },
      { ...record, account: null },
    ],
  ];
  const asked: unknown[] = [];
  const query: RequestLog['query'] = async (filter, { after }) => {
    asked.push([filter, after]);
    return { records: pages.shift()!, next: pages.length > 0 ? 7 : null };
  };
  await series.readLog({ query }, START - 1);
  const filter = { from: START - 30 * 86_400_000, to: START - 1 };
  expect(asked).toEqual([
    [filter, undefined],
    [filter, 7],
  ]);
  expect(series.read('a').total).toMatchObject({ requests: 3, errors: 1, charge: 15 });
  expect(series.read().total.requests).toBe(3);
});
