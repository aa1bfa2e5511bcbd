import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../bench/free-port.ts';
import { launchDaemon as launch, sharedDaemon, startDaemon, type TestDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { temporaryFolder } from '../oriel.ts';
import { newKey } from '../text/gateway-daemon.ts';
import { TEXT_MODEL } from './text-client.ts';

/** Milliseconds after which a node has to look at the database again whether a key was revoked. */
const CHECKED_MS = 1000;

const CONFIG = {
  providers: { sandbox: { kind: 'sandbox' } },
  limits: { paid: { rpm: 1_000_000 } },
  models: {
    talk: TEXT_MODEL,
    drawn: { type: 'image', routes: [{ provider: 'sandbox', model: 'image' }] },
  },
};

describeWithPostgres('a node whose PostgreSQL', (server) => {
  const shared = sharedDaemon({
    get config() {
      return { ...CONFIG, store: { driver: 'postgres', url: server().url } };
    },
  });
  const post = async (daemon: TestDaemon, path: string, key: string, body: object) => {
    const response = await daemon.send(path, body, { key });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const ask = (daemon: TestDaemon, key: string) =>
    post(daemon, '/v1/chat/completions', key, {
      model: 'talk',
      messages: [{ role: 'user', content: 'How deep is the harbour?' }],
      max_tokens: 64,
    });
  const draw = (daemon: TestDaemon, key: string) =>
    post(daemon, '/v1/images/generations', key, { model: 'drawn', prompt: 'a harbour' });

  const readiness = async (daemon: TestDaemon, query = '') => {
    const response = await fetch(`${daemon.url}/readyz${query}`);
    const body = (await response.json()) as { readonly error?: { readonly message: string } };
    return [response.status, body.error?.message ?? body];
  };
  const READY = [200, { status: 'ok' }];

  it.each([
    ['is killed', 'stop', 'start', 'ECONNREFUSED'],
    ['gives no answer', 'pause', 'resume', 'it does not answer'],
  ] as const)(
    '%s is not ready, without any request, and answers text requests of known keys at once',
    async (_, end, begin, reason) => {
      const daemon = shared();
      expect(await readiness(daemon)).toEqual(READY);
      server()[end]();
      const missing = [503, `PostgreSQL: the database cannot be used now: ${reason}`];
      await expect.poll(() => readiness(daemon)).toEqual(missing);
      const degraded = { status: 'degraded', reason: missing[1] };
      expect(await readiness(daemon, '?for=text')).toEqual([
        200,
        { status: 'ok', store: degraded },
      ]);
      server()[begin]();
      await expect.poll(() => readiness(daemon)).toEqual(READY);

      const key = await newKey(daemon, end, { credits: '100' });
      // Credits for a minute like these are held in advance.
      for (let count = 0; count < 100; count += 1)
        expect((await ask(daemon, key)).status).toBe(200);
      server()[end]();
      const outage = daemon.log.length;
      const started = performance.now();
      let isRefused = false;
      const task = draw(daemon, key).then((answer) => {
        isRefused = true;
        return answer;
      });
      while (performance.now() < started + 1.5 * CHECKED_MS) {
        expect(await ask(daemon, key)).toMatchObject({ status: 200 });
        await delay(50);
      }
      // Unlike the task, they have not waited for the database.
      expect(isRefused).toBe(false);
      if (end === 'stop') {
        const { status, headers, text } = await task;
        expect(status, text).toBe(503);
        expect(headers.get('retry-after')).toBe('2');
        for (let count = 0; count < 10; count += 1) await draw(daemon, key);
        const lines = () => daemon.log.slice(outage);
        await expect.poll(() => lines().filter(({ status }) => status === 503)).toHaveLength(11);
        // That the outage began, and what waits: fewer than requests, however long it lasts.
        const others = lines().filter(({ msg }) => msg !== 'request');
        expect(others.length).toBeLessThan(11);
        expect(JSON.stringify(lines())).not.toContain('"stack"');
        expect(await readiness(daemon)).toMatchObject([503, expect.stringContaining('PostgreSQL')]);
      }
      server()[begin]();
      await task;
      // Without another request.
      await expect.poll(() => readiness(daemon)).toEqual(READY);
      await expect.poll(async () => (await draw(daemon, key)).status).toBe(202);
    },
  );

  it('is away at its start waits with a message, and ends its first run before it listens', async () => {
    const schema = 'starting';
    const port = await freePort();
    const { url, sql } = server();
    server().stop();
    const run = launch({
      data: temporaryFolder(),
      args: ['--port', String(port)],
      env: { ORIEL_BOOTSTRAP_KEY: '' },
      config: { ...CONFIG, store: { driver: 'postgres', url, schema } },
    });
    onTestFinished(() => run.end());
    const { reason } = await run.logged('waiting for the database');
    expect(reason).toContain('ECONNREFUSED');
    server().start();
    // As another node that makes its first run.
    const other = new pg.Client(url);
    other.on('error', () => {});
    await other.connect();
    const lock = [`${schema} first-run`];
    await other.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', lock);
    const waiting = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    await expect.poll(() => sql(waiting).trim()).toBe('1');
    await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
    // It has a connection that gets no answer, and then none that opens.
    server().crash();
    const daemon = await run.ready;
    expect(await readiness(daemon)).toEqual(READY);
    expect(existsSync(join(daemon.data, 'first-key'))).toBe(true);
  });

  it('is away can be stopped at its start', async () => {
    const store = { driver: 'postgres', url: 'postgres://oriel@127.0.0.1:1/none', schema: 's' };
    const run = launch({ data: temporaryFolder(), config: { ...CONFIG, store } });
    await run.logged('waiting for the database');
    expect(await run.stop()).toMatchObject({ status: 0, stderr: '' });
  });

  it.each([
    [
      'is read-only',
      'it is read-only (25006)',
      'SET default_transaction_read_only = on',
      'RESET default_transaction_read_only',
    ],
    [
      'accepts no more connections',
      'it accepts no more connections (53300)',
      'CONNECTION LIMIT 0',
      'CONNECTION LIMIT -1',
    ],
  ])(
    '%s refuses tasks with the reason, answers text, and recovers',
    async (name, reason, begin, end) => {
      const role = name.replaceAll(' ', '_').replace('-', '_');
      const { sql, url } = server();
      sql(`CREATE ROLE ${role} LOGIN; GRANT CREATE ON DATABASE postgres TO ${role}`);
      const store = { driver: 'postgres', url: url.replace('oriel@', `${role}@`), schema: role };
      const daemon = await startDaemon({ config: { ...CONFIG, store } });
      const key = await newKey(daemon, 'erika', { credits: '100' });
      for (let count = 0; count < 50; count += 1) expect((await ask(daemon, key)).status).toBe(200);
      expect((await draw(daemon, key)).status).toBe(202);
      sql(`ALTER ROLE ${role} ${begin};
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
      const [task, text] = await Promise.all([draw(daemon, key), ask(daemon, key)]);
      expect(text.status, text.text).toBe(200);
      expect(task).toMatchObject({ status: 503, text: expect.stringContaining(reason) });
      expect(task.headers.get('retry-after')).toBe('2');
      expect(await readiness(daemon)).toMatchObject([503, expect.stringContaining(reason)]);
      sql(`ALTER ROLE ${role} ${end}`);
      await expect.poll(() => readiness(daemon)).toEqual(READY);
      expect((await draw(daemon, key)).status).toBe(202);
      expect(sql(`SELECT count(*) FROM ${role}.tasks`).trim()).toBe('2');
    },
  );
});
