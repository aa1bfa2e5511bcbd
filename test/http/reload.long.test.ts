import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../src/store/audit/entry.ts';
import { OWNER_KEY, startDaemon, type TestDaemon } from '../daemon.ts';
import { oriel } from '../oriel.ts';

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

it('the owner reloads over HTTP, and sees where each setting comes from', async () => {
  const daemon = await startDaemon({ config: {}, env: { LIMIT: '7' } });
  const file = join(daemon.data, 'oriel.yaml');
  const reload = async () => {
    const response = await daemon.request('/v1/admin/config/reload', {
      method: 'POST',
      headers: { authorization: `Bearer ${OWNER_KEY}` },
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  writeFileSync(file, 'limits:\n  paid: { rpm: "${LIMIT}" }\nserver: { grace: 3s }\n');
  const done = await reload();
  expect(done.status).toBe(200);
  expect(done.body.sources).toMatchObject({
    'limits.paid.rpm': 'oriel.yaml:2, $LIMIT',
    'server.grace': 'oriel.yaml:3',
    'server.port': 'command line',
    'models.sandbox-chat.type': 'sandbox',
  });
  expect(done.body.sources).not.toHaveProperty('limits.free.rpm');
  expect(await limitOf(daemon)).toBe('7');
  writeFileSync(file, '\nlimits: { paid: { rpm: -1 } }\nserver: { prt: 1 }\n');
  const refused = await reload();
  expect(refused.status).toBe(400);
  expect(refused.body.error).toMatchObject({ code: 'invalid_config' });
  const lines = refused.body.error?.message.split('\n');
  expect(lines?.[0]).toMatch(/^\S*oriel\.yaml:2: limits\.paid\.rpm: /);
  expect(lines?.[1]).toMatch(/^\S*oriel\.yaml:3: server\.prt: /);
  expect(await limitOf(daemon)).toBe('7');
  const { out } = await oriel(['audit', '--data', daemon.data, '--json']);
  const { acts } = JSON.parse(out) as { readonly acts: readonly AuditEntry[] };
  const reloads = acts.filter(({ act }) => act === 'config.reload');
  expect(reloads.map(({ result, who }) => [result, who.key !== null])).toEqual([
    ['done', true],
    ['refused', true],
  ]);
});

interface Answer {
  readonly sources?: Readonly<Record<string, string>>;
  readonly error?: { readonly message: string };
}
