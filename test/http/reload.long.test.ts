import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../src/store/audit/entry.ts';
import { type LogLine, OWNER_KEY, sharedDaemon } from '../daemon.ts';
import { until } from '../fixtures/until.ts';
import { oriel } from '../oriel.ts';

const daemon = sharedDaemon({ config: { pool: { threads: 1 } }, env: { LIMIT: '8' } });
const file = () => join(daemon().data, 'oriel.yaml');

const AT_FAULT = 'the configuration is at fault; the one before stays in force';

/** Writes the configuration, sends SIGHUP and waits for the outcome. @returns the log lines since */
async function configure(
  text: string,
  outcome = 'the configuration was read again',
): Promise<readonly LogLine[]> {
  const { log, child } = daemon();
  const before = log.length;
  writeFileSync(file(), text);
  child.kill('SIGHUP');
  await until(() => log.slice(before).some(({ msg }) => msg === outcome));
  return log.slice(before);
}

const limit = async () =>
  (await daemon().request('/v1/account')).headers.get('x-ratelimit-limit-requests');

it('SIGHUP reloads limits, and logs the settings that need a restart', async () => {
  await configure('limits: { paid: { rpm: 7 } }');
  expect(await limit()).toBe('7');
  const lines = await configure('{ limits: { paid: { rpm: 9 } }, pool: { threads: 2 } }');
  expect(lines).toContainEqual(
    expect.objectContaining({
      msg: 'this setting changes at the next start only',
      setting: 'pool.threads',
    }),
  );
  expect(await limit()).toBe('9');
});

it('SIGHUP with an invalid file keeps the configuration and logs each error', async () => {
  await configure('limits: { paid: { rpm: 7 } }');
  const lines = await configure('limits: { paid: { rpm: -1 } }\nserver: { prt: 1 }\n', AT_FAULT);
  const line = lines.find(({ msg }) => msg === AT_FAULT);
  expect(line?.level).toBe('error');
  expect(line?.['faults']).toEqual(
    expect.arrayContaining([
      expect.stringContaining('limits.paid.rpm'),
      expect.stringContaining('server.prt'),
    ]),
  );
  expect(await limit()).toBe('7');
});

it('the owner reloads over HTTP, and sees where each setting comes from', async () => {
  const reload = async () => {
    const response = await daemon().request('/v1/admin/config/reload', {
      method: 'POST',
      headers: { authorization: `Bearer ${OWNER_KEY}` },
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  writeFileSync(file(), 'limits:\n  paid: { rpm: "${LIMIT}" }\nserver: { grace: 3s }\n');
  const done = await reload();
  expect(done.status).toBe(200);
  expect(done.body.sources).toMatchObject({
    'limits.paid.rpm': 'oriel.yaml:2, $LIMIT',
    'server.grace': 'oriel.yaml:3',
    'server.port': 'command line',
    'models.sandbox-chat.type': 'sandbox',
  });
  expect(done.body.sources).not.toHaveProperty('limits.free.rpm');
  expect(await limit()).toBe('8');
  writeFileSync(file(), '\nlimits: { paid: { rpm: -1 } }\nserver: { prt: 1 }\n');
  const refused = await reload();
  expect(refused.status).toBe(400);
  expect(refused.body.error).toMatchObject({ code: 'invalid_config' });
  const lines = refused.body.error?.message.split('\n');
  expect(lines?.[0]).toMatch(/^\S*oriel\.yaml:2: limits\.paid\.rpm: /);
  expect(lines?.[1]).toMatch(/^\S*oriel\.yaml:3: server\.prt: /);
  expect(await limit()).toBe('8');
  const { out } = await oriel(['audit', '--data', daemon().data, '--json']);
  const { acts } = JSON.parse(out) as { readonly acts: readonly AuditEntry[] };
  // By a key: a reload by SIGHUP has none.
  const reloads = acts.filter(({ act, who }) => act === 'config.reload' && who.key !== null);
  expect(reloads.map(({ result }) => result)).toEqual(['done', 'refused']);
});

interface Answer {
  readonly sources?: Readonly<Record<string, string>>;
  readonly error?: { readonly message: string };
}

interface Listing {
  readonly data: readonly { readonly id: string }[];
}

// The last test: after it, a file without models is refused.
it('SIGHUP with an empty file keeps the models of the configuration', async () => {
  const provider = { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'sk' };
  const model = { type: 'text', routes: [{ provider: 'own', model: 'm' }] };
  const models = { first: model, second: model };
  const names = async () => {
    const { data } = (await (await daemon().request('/v1/models')).json()) as Listing;
    return data.map(({ id }) => id);
  };
  await configure(JSON.stringify({ providers: { own: provider }, models }));
  await configure('', AT_FAULT);
  expect(await names()).toEqual(['first', 'second']);
  const one = JSON.stringify({ providers: { own: provider }, models: { first: model } });
  expect(await configure(one)).toContainEqual(
    expect.objectContaining({
      msg: 'these models are no longer in the configuration',
      level: 'warn',
      models: ['second'],
    }),
  );
  expect(await names()).toEqual(['first']);
});
