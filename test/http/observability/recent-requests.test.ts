import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type EndedRequest,
  RecentRequests,
} from '../../../src/http/observability/recent-requests.ts';
import type { KeyHolder } from '../../../src/store/store.ts';

const CAPACITY = 12;

function requestOf(account: string, id = ''): EndedRequest {
  const holder = { account: { id: account }, key: { id: `key of ${account}` } } as KeyHolder;
  return {
    id,
    method: 'POST',
    route: '/v1/messages',
    status: 200,
    milliseconds: 1,
    holder,
    failure: null,
    textReport: null,
    firstFrameMs: null,
    task: null,
    body: undefined,
    params: {},
  };
}

it('recent requests: an account keeps its newest requests up to its share, whatever others send', () => {
  const account = fc.constantFrom('a', 'b', 'c', 'd');
  fc.assert(
    fc.property(fc.array(account, { maxLength: 200 }), (accounts) => {
      const recent = new RecentRequests(CAPACITY);
      for (const [index, name] of accounts.entries()) recent.add(requestOf(name, String(index)));
      expect(recent.list()).toHaveLength(Math.min(accounts.length, CAPACITY));
      for (const name of new Set(accounts)) {
        const sent = accounts.flatMap((one, index) => (one === name ? [String(index)] : []));
        const kept = recent.list(name).map(({ id }) => id);
        const share = Math.floor(CAPACITY / new Set(accounts).size);
        expect(kept.length).toBeGreaterThanOrEqual(Math.min(sent.length, share));
        expect(kept).toEqual(sent.slice(-kept.length).reverse());
      }
    }),
    { numRuns: 100 },
  );
});

it('recent requests: more accounts than places leave each new request in the list', () => {
  const recent = new RecentRequests(CAPACITY);
  for (let index = 0; index < 5 * CAPACITY; index += 1)
    recent.add(requestOf(`account ${index}`, String(index)));
  expect(recent.list()).toHaveLength(CAPACITY);
  expect(recent.list()[0]!.id).toBe(String(5 * CAPACITY - 1));
});
