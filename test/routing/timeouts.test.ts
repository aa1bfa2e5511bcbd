import * as v from 'valibot';
import { expect, it } from 'vitest';
import { configSchema } from '../../src/config/settings/schema.ts';
import { longestTotal, timeoutsOf } from '../../src/routing/retry-policy.ts';

const provider = { kind: 'openai', baseUrl: 'https://a.example/v1' };

const config = v.parse(configSchema, {
  routing: { timeouts: { connect: '1s', total: '10s' } },
  providers: {
    plain: provider,
    patient: { ...provider, timeouts: { total: '1h', idle: '3s' } },
    hasty: { ...provider, timeouts: { connect: '7ms' } },
    sandbox: { kind: 'sandbox' },
  },
});

it('a provider replaces single timeouts of routing', () => {
  const { timeouts } = config.routing;
  expect(timeouts).toEqual({ connect: 1000, firstByte: 120_000, idle: 120_000, total: 10_000 });
  for (const name of ['plain', 'sandbox']) {
    expect(timeoutsOf(config, config.providers[name]!)).toEqual(timeouts);
  }
  expect(timeoutsOf(config, config.providers['patient']!)).toEqual({
    ...timeouts,
    total: 3_600_000,
    idle: 3000,
  });
  expect(timeoutsOf(config, config.providers['hasty']!)).toEqual({ ...timeouts, connect: 7 });
});

it('a request has the longest total of the providers of its routes', () => {
  const routes = (...names: string[]) => names.map((name) => ({ provider: name }));
  expect(longestTotal(config, routes('plain', 'patient', 'hasty'))).toBe(3_600_000);
  expect(longestTotal(config, routes('hasty', 'sandbox'))).toBe(10_000);
});
