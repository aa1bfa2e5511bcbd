import { describe, expect, it } from 'vitest';
import type {
  NewRequest,
  RequestFilter,
  RequestRecord,
} from '../../../src/store/requests/record.ts';
import type { Store } from '../../../src/store/store.ts';
import { bothOf, freshStore } from '../fresh-store.ts';
import type { DriverFactory } from './driver-factory.ts';

/** A time in the first microseconds of which a record may have its number. */
const START = Date.UTC(2026, 9, 24);

type Change = Partial<RequestRecord & Pick<NewRequest, 'bodies'>> & { readonly at?: number };

export const requestOf = (id: string, change: Change = {}): NewRequest => {
  const { at = START, bodies = null, ...rest } = change;
  const record: RequestRecord = {
    ...{ number: 0, object: 'request', id, ended: Math.floor(at / 1000), ended_ms: at },
    ...{ method: 'POST', route: '/v1/chat/completions', status: 200, error: null, latency_ms: 5 },
    ...{ first_token_ms: null, account: { id: 'a', name: 'one' } },
    ...{ key: { id: 'k', name: 'builds' }, model: 'm', named_model: null, task_id: null },
    ...{ trace_id: null, provider: 'p', upstream_model: 'u', attempts: 0, timeline: [] },
    ...{ cache: null, tags: {}, input_tokens: 1, cached_input_tokens: 0, output_tokens: 2 },
    ...{ credits: 3, has_bodies: bodies !== null, ...rest },
  };
  return { record, bodies };
};

const other = { account: { id: 'b', name: 'two' }, key: { id: 'l', name: 'tests' } };

const attempt = {
  ...{ provider: 'p', model: 'u', key: null, start_ms: 1, latency_ms: 2, status: 503 },
  ...{ error: 'service_error', message: 'Überlast \u0000 \ud800' },
};

const sample = (): readonly NewRequest[] => [
  requestOf('one'),
  requestOf('two', {
    at: START + 1000,
    status: 404,
    error: { type: 'invalid_request', code: 'model_not_found', message: 'none' },
  }),
  requestOf('three', { at: START + 2000, ...other, tags: { run: '42', 'ü"': 'x' } }),
  requestOf('four', { at: START + 3000, status: 502, model: 'n', timeline: [attempt] }),
  requestOf('five', { at: START + 4000, account: null, key: null, model: null, status: 401 }),
];

async function withSample(driver: DriverFactory) {
  const { store, reopened } = await freshStore(driver);
  for (const request of sample()) store.requests.add(request);
  await store.requests.flush();
  return { store, reopened };
}

async function idsOf({ requests }: Store, filter: RequestFilter, limit = 100) {
  return (await requests.query(filter, { limit })).records.map(({ id }) => id);
}

const bodies = { request: '{"prompt":"a secret ü \u0000"}', answer: 'a secret answer' };

/** Tests of the log of requests for every driver. */
export function describeRequests(driver: DriverFactory): void {
  describe('requests', () => {
    it('are found newest first, also after a restart, as they were added', async () => {
      const { store, reopened } = await withSample(driver);
      for await (const each of bothOf(store, reopened)) {
        const { records, next } = await each.requests.query({}, { limit: 100 });
        expect(next).toBeNull();
        const expected = sample().map(({ record: { number: _, ...rest } }) => rest);
        expect(records.map(({ number: _, ...rest }) => rest)).toEqual(expected.toReversed());
        const numbers = records.map(({ number }) => number);
        expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
        expect(await each.requests.find('two', 'a')).toMatchObject({ status: 404 });
        expect(await each.requests.find('two', 'b')).toBeUndefined();
      }
    });

    it('are found page by page', async () => {
      const { store } = await withSample(driver);
      const found: string[][] = [];
      for (let after: number | null = Infinity; after !== null; ) {
        const page = await store.requests.query({}, { limit: 2, after });
        found.push(page.records.map(({ id }) => id));
        after = page.next;
      }
      expect(found).toEqual([['five', 'four'], ['three', 'two'], ['one']]);
      await store.close();
    });

    const filters: readonly [string, RequestFilter, string[]][] = [
      ['account', { accountId: 'b' }, ['three']],
      ['key', { keyId: 'k' }, ['four', 'two', 'one']],
      ['model', { model: 'n' }, ['four']],
      ['provider', { provider: 'p', statusClass: '5' }, ['four']],
      ['class of status', { statusClass: '4' }, ['five', 'two']],
      ['tag', { tag: { name: 'run', value: '42' } }, ['three']],
      ['another value of a tag', { tag: { name: 'run', value: '4' } }, []],
      ['any value of a tag', { tag: { name: 'ü"', value: null } }, ['three']],
      ['a tag by a name that all objects have', { tag: { name: 'toString', value: null } }, []],
      ['text', { text: 'MODEL_not' }, ['two']],
      ['text of a provider, for the owner', { text: 'überlast', isOwner: true }, ['four']],
      ['text of a provider, for others', { text: 'überlast' }, []],
      ['start', { from: START + 3000 }, ['five', 'four']],
      ['end', { to: START + 1000 }, ['one']],
      [
        'a period and an account',
        { from: START + 1, to: START + 4000, accountId: 'a' },
        ['four', 'two'],
      ],
    ];
    it('are found by each filter', async () => {
      const { store } = await withSample(driver);
      for (const [name, filter, ids] of filters) {
        expect([name, await idsOf(store, filter)]).toEqual([name, ids]);
      }
      await store.close();
    });

    it('are deleted by account, key, identifier and age, with their bodies or these alone', async () => {
      const { store, reopened } = await withSample(driver);
      const { requests } = store;
      for (const id of ['x', 'y']) requests.add(requestOf(id, { at: START + 5000, bodies }));
      await requests.flush();
      const [y, x] = (await requests.query({}, { limit: 2 })).records;
      expect(await requests.bodiesOf(x!)).toEqual(bodies);
      expect(await requests.remove({ id: 'x' }, true)).toBe(1);
      expect(await requests.bodiesOf(x!)).toBeUndefined();
      expect(await requests.bodiesOf(y!)).toEqual(bodies);
      expect(await requests.remove({ accountId: 'b' }, false)).toBe(1);
      expect(await requests.remove({ keyId: 'k', before: START + 1000 }, false)).toBe(1);
      expect(await requests.remove({ id: 'y', accountId: 'b' }, false)).toBe(0);
      for await (const each of bothOf(store, reopened)) {
        expect(await idsOf(each, {})).toEqual(['y', 'x', 'five', 'four', 'two']);
        expect(await each.requests.bodiesOf(y!)).toEqual(bodies);
      }
    });

    it('are followed as they are added', async () => {
      const { store } = await freshStore(driver);
      const seen: string[] = [];
      const end = store.requests.follow(({ id }) => void seen.push(id));
      store.requests.add(requestOf('one'));
      await store.requests.flush();
      end();
      store.requests.add(requestOf('two'));
      await store.requests.flush();
      expect(seen).toEqual(['one']);
      await store.close();
    });

    it('beyond their retention are deleted, by days where they are files', async () => {
      const day = 86_400_000;
      const { store } = await freshStore(driver);
      for (let at = 0; at < 5; at += 1) {
        store.requests.add(requestOf(`day ${at}`, { at: START + at * day, bodies }));
        await store.requests.flush();
      }
      const [before, bodiesBefore] = [START + 2 * day, START + 3 * day];
      await store.requests.trim({ before, bodiesBefore, maxBytes: 1e9 });
      const { records } = await store.requests.query({}, { limit: 10 });
      expect(records.map(({ id }) => id)).toEqual(['day 4', 'day 3', 'day 2']);
      const kept = await Promise.all(records.map((record) => store.requests.bodiesOf(record)));
      expect(kept).toEqual([bodies, bodies, undefined]);
      await store.close();
    });
  });
}
