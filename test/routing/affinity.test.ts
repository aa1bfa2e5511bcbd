import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Conversation, RouteAffinity } from '../../src/routing/affinity.ts';

const ROUTES = ['a', 'b', 'c'].map((name) => ({ name, route: { provider: name } }));

const conversation = (accountId: string, key: string, continues = true): Conversation => ({
  accountId,
  continues,
  key: () => key,
});

function affinity({ for: duration = 1000, conversations = 100 } = {}) {
  const clock = { now: 0 };
  const memory = new RouteAffinity(
    () => ({ for: duration, conversations }),
    () => clock.now,
  );
  const first = (one: Conversation) => memory.order(ROUTES, one)[0]!.name;
  const answer = (name: string, one: Conversation) =>
    memory.answered(ROUTES.find((route) => route.name === name)!, ROUTES, one);
  return { memory, clock, first, answer };
}

it('a conversation stays with the route that answered it last, of one account alone', () => {
  const { memory, clock, first, answer } = affinity();
  const one = conversation('acct_1', 'k');
  answer('a', one);
  expect(memory.size).toBe(0);
  answer('c', one);
  expect(memory.order(ROUTES, one).map(({ name }) => name)).toEqual(['c', 'a', 'b']);
  expect(first(conversation('acct_2', 'k'))).toBe('a');
  expect(first(conversation('acct_1', 'other'))).toBe('a');
  expect(first(conversation('acct_1', 'k', false))).toBe('a');
  clock.now = 999;
  expect(first(one)).toBe('c');
  answer('c', one);
  clock.now = 1998;
  expect(first(one)).toBe('c');
  clock.now = 1999;
  expect(first(one)).toBe('a');
  answer('a', one);
  expect(memory.size).toBe(0);
});

it('a route that the configuration no longer has is not tried', () => {
  const { memory, answer } = affinity();
  const one = conversation('acct_1', 'k');
  answer('c', one);
  expect(memory.order(ROUTES.slice(0, 2), one)).toEqual(ROUTES.slice(0, 2));
});

it.each([{ for: 0 }, { conversations: 0 }])('%o remembers nothing', (settings) => {
  const { memory, first, answer } = affinity(settings);
  const one = conversation('acct_1', 'k');
  answer('c', one);
  expect(memory.size).toBe(0);
  expect(first(one)).toBe('a');
});

it('keys are not computed for one route, nor while all routes are the first', () => {
  const { memory } = affinity();
  const uncomputed: Conversation = {
    accountId: 'acct_1',
    continues: true,
    key: () => {
      throw new Error('computed');
    },
  };
  memory.order(ROUTES.slice(0, 1), uncomputed);
  memory.answered(ROUTES[1]!, ROUTES.slice(1, 2), uncomputed);
  memory.order(ROUTES, uncomputed);
  memory.answered(ROUTES[0]!, ROUTES, uncomputed);
});

it('the conversations of one account do not displace those of another', () => {
  const { memory, first, answer } = affinity({ conversations: 40 });
  const kept = Array.from({ length: 5 }, (_, index) => conversation('small', `${index}`));
  for (const one of kept) answer('b', one);
  for (let index = 0; index < 500; index += 1) {
    answer('c', conversation('large', `${index}`));
    expect(memory.size).toBeLessThanOrEqual(40);
  }
  expect(kept.map(first)).toEqual(['b', 'b', 'b', 'b', 'b']);
  // Of the large account the last ones are kept.
  expect(first(conversation('large', '499'))).toBe('c');
  expect(first(conversation('large', '0'))).toBe('a');
});

it('agrees with a model of it for any answers, within its limit', () => {
  const step = fc.record({
    account: fc.constantFrom('x', 'y'),
    key: fc.constantFrom('1', '2', '3'),
    route: fc.constantFrom('a', 'b', 'c'),
    wait: fc.nat(400),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { memory, clock, first, answer } = affinity();
      const expected = new Map<string, { route: string; until: number }>();
      for (const { account, key, route, wait } of steps) {
        clock.now += wait;
        const one = conversation(account, key);
        const known = expected.get(`${account}${key}`);
        expect(first(one)).toBe(known && known.until > clock.now ? known.route : 'a');
        answer(route, one);
        expected.set(`${account}${key}`, { route, until: clock.now + 1000 });
        const away = [...expected.values()].filter((entry) => entry.route !== 'a');
        expect(memory.size).toBe(away.length);
      }
    }),
    { numRuns: 100 },
  );
});
