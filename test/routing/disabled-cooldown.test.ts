import * as v from 'valibot';
import { expect, it } from 'vitest';
import { configSchema } from '../../src/config/settings/schema.ts';
import { Failure } from '../../src/failure.ts';
import { Routing } from '../../src/routing/routing.ts';
import { temporaryFolder } from '../oriel.ts';

const configWith = (after: number) =>
  v.parse(configSchema, {
    dataDir: temporaryFolder(),
    routing: { retries: 0, cooldown: { after, for: '1h' } },
    providers: { own: { kind: 'openai', baseUrl: 'https://provider.example/v1', apiKey: 'k' } },
    models: { m: { type: 'text', routes: [{ provider: 'own', model: 'up' }] } },
  });

it('a reload that disables cooldowns ends those that last', async () => {
  let config = configWith(1);
  const routing = new Routing(() => config, { onAttempt: () => {} });
  const candidates = routing.candidatesOf(config.models['m']!, null);
  const ask = (attempt: () => Promise<string>) =>
    routing.run({
      model: 'm',
      accountId: 'acct_1',
      logContext: { requestId: 'req_1' },
      candidates,
      providers: config.providers,
      signal: new AbortController().signal,
      deadline: Infinity,
      attempt,
    });
  const refuse = async () => {
    throw new Failure('service_error', 'down');
  };
  await expect(ask(refuse)).rejects.toThrow('down');
  expect(routing.remainingCooldown(candidates[0]!, 'acct_1')).toBeGreaterThan(0);
  expect([...routing.routeCooldowns()]).toHaveLength(1);
  config = configWith(0);
  expect(routing.remainingCooldown(candidates[0]!, 'acct_1')).toBe(0);
  expect([...routing.routeCooldowns()]).toEqual([]);
  expect(await ask(async () => 'answered')).toBe('answered');
});
