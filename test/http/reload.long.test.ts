import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon, type TestDaemon } from '../daemon.ts';

function configure(daemon: TestDaemon, text: string): void {
  writeFileSync(join(daemon.data, 'oriel.yaml'), text);
  daemon.child.kill('SIGHUP');
}

const limitOf = async (daemon: TestDaemon) =>
  (await daemon.request('/v1/account')).headers.get('x-ratelimit-limit-requests');

it('SIGHUP reloads limits and models', async () => {
  const daemon = await startDaemon({ config: { limits: { paid: { rpm: 7 } } } });
  expect(await limitOf(daemon)).toBe('7');
  configure(daemon, 'limits: { paid: { rpm: 9 } }');
  await daemon.logged('the configuration was read again');
  expect(await limitOf(daemon)).toBe('9');
});

it('SIGHUP with an invalid file keeps the configuration and logs each error', async () => {
  const daemon = await startDaemon({ config: { limits: { paid: { rpm: 7 } } } });
  configure(daemon, 'limits: { paid: { rpm: -1 } }\nserver: { prt: 1 }\n');
  const line = await daemon.logged('the configuration is at fault; the one before stays in force');
  expect(line.level).toBe('error');
  expect(line['faults']).toEqual(
    expect.arrayContaining([
      expect.stringContaining('limits.paid.rpm'),
      expect.stringContaining('server.prt'),
    ]),
  );
  expect(await limitOf(daemon)).toBe('7');
});

interface Listing {
  readonly data: readonly { readonly id: string }[];
}

it('SIGHUP with an empty file keeps the models of the configuration', async () => {
  const provider = { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'sk' };
  const model = { type: 'text', routes: [{ provider: 'own', model: 'm' }] };
  const models = { first: model, second: model };
  const daemon = await startDaemon({ config: { providers: { own: provider }, models } });
  const names = async () => {
    const { data } = (await (await daemon.request('/v1/models')).json()) as Listing;
    return data.map(({ id }) => id);
  };
  configure(daemon, '');
  await daemon.logged('the configuration is at fault; the one before stays in force');
  expect(await names()).toEqual(['first', 'second']);
  configure(daemon, JSON.stringify({ providers: { own: provider }, models: { first: model } }));
  expect(await daemon.logged('these models are no longer in the configuration')).toMatchObject({
    level: 'warn',
    models: ['second'],
  });
  expect(await names()).toEqual(['first']);
});

it('SIGHUP logs the settings that need a restart', async () => {
  const daemon = await startDaemon({ config: { pool: { threads: 1 } } });
  configure(daemon, 'pool: { threads: 2 }');
  expect(await daemon.logged('this setting changes at the next start only')).toMatchObject({
    setting: 'pool.threads',
  });
});
