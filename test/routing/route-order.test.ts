import { expect, it } from 'vitest';
import type { Model } from '../../src/config/settings/schema.ts';
import { Latencies, orderRoutes, seededRandom } from '../../src/routing/route-order.ts';

/** A model whose routes have the names of their providers. */
const modelOf = (settings: object, routes: Readonly<Record<string, object>>) =>
  ({
    type: 'text',
    ...settings,
    routes: Object.entries(routes).map(([provider, one]) => ({
      ...{ provider, model: 'x', priority: 1 },
      ...one,
    })),
  }) as unknown as Model;

const REQUESTS = 2000;

/** Requests of 2000 that begin at each route, in percent. */
function sharesOf(model: Model, latencies: Readonly<Record<string, number>> = {}) {
  const random = seededRandom('a seed');
  const latencyOf = (name: string) => latencies[JSON.parse(name)[0]] ?? null;
  const counts: Record<string, number> = {};
  for (let count = 0; count < REQUESTS; count += 1) {
    const order = orderRoutes(model, random, latencyOf);
    expect(new Set(order).size).toBe(model.routes.length);
    const { provider } = order[0]!.route;
    counts[provider] = (counts[provider] ?? 0) + 100 / REQUESTS;
  }
  return Object.fromEntries(Object.entries(counts).map(([name, of]) => [name, Math.round(of)]));
}

const about = (share: number) => ({
  asymmetricMatch: (received: number) => Math.abs(received - share) <= 3,
});

it.each<[string, Model, Record<string, unknown>, Record<string, number>?]>([
  ['weights', modelOf({}, { a: { weight: 3 }, b: { weight: 1 } }), { a: about(75), b: about(25) }],
  [
    'a weight of 1 where none is set',
    modelOf({}, { a: { weight: 4 }, b: {} }),
    { a: about(80), b: about(20) },
  ],
  [
    'no first place for weight 0',
    modelOf({}, { a: { weight: 0 }, b: { weight: 0.1 } }),
    { b: 100 },
  ],
  [
    'weights of the highest priority only',
    modelOf({}, { a: { weight: 9 }, b: { priority: 2 } }),
    { b: 100 },
  ],
  ['the written order without weights', modelOf({}, { a: {}, b: {} }), { a: 100 }],
  [
    'the lowest latency, and a tenth for all',
    modelOf({ order: 'latency' }, { a: {}, b: {} }),
    { a: about(5), b: about(95) },
    { a: 900, b: 90 },
  ],
  [
    'latencies that are alike',
    modelOf({ order: 'latency' }, { a: {}, b: {} }),
    { a: about(50), b: about(50) },
    { a: 100, b: 110 },
  ],
  [
    'a route that is not measured yet',
    modelOf({ order: 'latency' }, { a: {}, b: {} }),
    { a: about(50), b: about(50) },
    { a: 100 },
  ],
  [
    'the lowest cost',
    modelOf(
      { order: 'cost' },
      { none: {}, a: { cost: { input: 3, output: 15 } }, b: { cost: { input: 5, output: 5 } } },
    ),
    { b: 100 },
  ],
])('requests begin by %s', (_, model, shares, latencies) => {
  expect(sharesOf(model, latencies)).toEqual(shares);
});

it('the routes that are left follow by latency, or by weight', () => {
  const names = (model: Model, latencyOf: (name: string) => number | null = () => null) =>
    orderRoutes(model, seededRandom('1'), latencyOf).map(({ route }) => route.provider);
  const slow: Record<string, number> = { a: 300, b: 200, c: 100 };
  const measured = modelOf({ order: 'latency' }, { a: {}, b: {}, c: {} });
  expect(names(measured, (name) => slow[JSON.parse(name)[0]]!)).toEqual(['c', 'b', 'a']);
  const weighted = modelOf({}, { a: { weight: 0 }, b: { weight: 0 }, c: { weight: 1 } });
  expect(names(weighted)).toEqual(['c', 'a', 'b']);
});

it('a latency is the median of the last 32 of ten minutes', () => {
  let now = 0;
  const latencies = new Latencies(() => now);
  expect(latencies.median('a')).toBeNull();
  for (const milliseconds of [900, 10, 20]) latencies.add('a', milliseconds);
  expect(latencies.median('a')).toBe(20);
  for (let count = 0; count < 32; count += 1) latencies.add('a', 50);
  expect(latencies.median('a')).toBe(50);
  now = 600_001;
  expect(latencies.median('a')).toBeNull();
});
