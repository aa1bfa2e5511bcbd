import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { MetricRegistry } from '../../../src/http/observability/metric-registry.ts';
import { addStoreMetrics } from '../../../src/http/observability/state-metrics.ts';
import { ChargeLog } from '../../../src/store/drivers/postgres/escrow/charge-log.ts';
import {
  openPostgresStore,
  type PostgresOptions,
} from '../../../src/store/drivers/postgres/open.ts';
import type { NodeRecord } from '../../../src/store/nodes.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder } from '../../oriel.ts';
import { failureWith } from '../fresh-store.ts';
import { CREDIT, completionOf, owner, taskFor } from '../records.ts';

describeWithPostgres('a store on PostgreSQL', (server) => {
  /** Opens a store, which is closed after the test. */
  const open = async (schema: string, options: Partial<PostgresOptions> = {}) => {
    const defaults = { directory: temporaryFolder(), url: server().url, poolSize: 4 };
    const store = await openPostgresStore({ ...defaults, schema, ...options });
    onTestFinished(() => store.close());
    return store;
  };
  /** The server's URL for another user, or for another database. */
  const urlAs = (user: string) => server().url.replace('oriel@', `${user}@`);
  const urlOf = (database: string) => server().url.replace(/\w+$/, database);

  it('is migrated once by nodes that start together', async () => {
    await Promise.all(Array.from({ length: 4 }, () => open('together')));
    const versions = server().sql('SELECT count(*) = max(version) FROM together.migrations');
    expect(versions.trim()).toBe('t');
  });

  it('is refused by a program that is older than its schema', async () => {
    await (await open('newer')).close();
    server().sql('INSERT INTO newer.migrations (version) VALUES (99)');
    await expect(open('newer')).rejects.toEqual(failureWith('store_newer', 500));
    await expect(open('newer')).rejects.toThrow('its schema newer has version 99');
  });

  it('goes on where a later program has added columns', async () => {
    const store = await open('later');
    const { key } = await owner(store);
    await store.createTask(taskFor(key));
    server().sql(`ALTER TABLE later.accounts ADD COLUMN more text;
      ALTER TABLE later.keys ADD COLUMN more text; ALTER TABLE later.tasks ADD COLUMN more text`);
    const { task } = await store.createTask(taskFor(key));
    const claim = await store.claimTask(task.id);
    expect(await store.completeTask(claim!, completionOf())).toMatchObject({ status: 'completed' });
  });

  it('goes on where connections lose their prepared statements', async () => {
    const store = await open('forgetful');
    const { account, key } = await owner(store);
    server().sql(`CREATE FUNCTION forgetful.forget() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NULL; END $$;
      CREATE TRIGGER forget AFTER INSERT ON forgetful.tasks EXECUTE FUNCTION forgetful.forget()`);
    for (let count = 1; count <= 3; count += 1) await store.createTask(taskFor(key));
    expect(await store.listTasks({ accountId: account.id }, { limit: 10 })).toHaveLength(3);
  });

  it('whose opening fails keeps no connection, so that a command ends', async () => {
    const store = await open('damaged');
    await store.close();
    server().sql('DROP TABLE damaged.escrows');
    await expect(open('damaged')).rejects.toThrow('relation "damaged.escrows" does not exist');
    const connections = `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'oriel%'`;
    await expect.poll(() => server().sql(connections).trim()).toBe('0');
  });

  it('keeps charges of accounts that it does not have, as after the restore of a backup', async () => {
    const directory = temporaryFolder();
    const folder = join(directory, 'charges');
    const log = await ChargeLog.open({ folder, node: 'node_1', onFault: () => {} });
    const payer = { accountId: 'acct_gone', keyId: 'key_gone' };
    await log.append({ number: 1, payer, model: 'm', counts: {}, amount: 5, at: 0 });
    log.close(false);
    const [written] = readdirSync(folder);
    const faults: string[] = [];
    const onFault = (error: unknown) => faults.push(String(error));
    const store = await open('restored', { directory, onFault });
    expect(readdirSync(folder)).toEqual([`${written}.unbooked`]);
    expect(faults).toEqual([expect.stringContaining('charges of acct_gone are left out')]);
    await store.close();
    expect(readdirSync(folder)).toEqual([`${written}.unbooked`]);
  });

  it('that does not answer is an error in bounded time, without the password', async () => {
    const url = 'postgres://oriel:secret-password@127.0.0.1:1/postgres';
    const failure = await open('away', { url }).catch((error: Error) => error);
    expect(failure).toEqual(failureWith('store_unavailable', 503));
    expect(`${failure}`).not.toContain('secret-password');
  });

  it('with one connection runs work that needs it under locks', async () => {
    const store = await open('small', { poolSize: 1 });
    const work = async () => (await store.listAccounts()).length;
    const locked = ['one', 'one', 'other'].map((name) => store.withLock(name, work));
    expect(await Promise.all(locked)).toEqual([0, 0, 0]);
  });

  it('says at its start why the database cannot be used', async () => {
    await expect(open('reason', { url: urlOf('nowhere') })).rejects.toThrow(
      'cannot be used: database "nowhere" does not exist (3D000)',
    );
  });

  it('is refused where it cannot hold every character, or may not be made', async () => {
    server().sql(`CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    await expect(open('any', { url: urlOf('latin') })).rejects.toThrow(
      "the database has the encoding LATIN1: create one WITH ENCODING 'UTF8'",
    );
    server().sql('CREATE ROLE reader LOGIN');
    await expect(open('any', { url: urlAs('reader') })).rejects.toThrow(
      'cannot be used: permission denied for database postgres (42501)',
    );
  });

  it('rejects calls after its user lost the right to connect', async () => {
    server().sql('CREATE ROLE former LOGIN SUPERUSER');
    const store = await open('former', { url: urlAs('former') });
    server().sql(`ALTER ROLE former NOLOGIN;
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'former'`);
    await expect
      .poll(() => store.listAccounts().catch((error: unknown) => error))
      .toEqual(failureWith('store_unavailable', 503));
    server().sql('ALTER ROLE former LOGIN');
    expect(await store.listAccounts()).toEqual([]);
  });

  it('is opened by a command beside a daemon without another node', async () => {
    const store = await open('beside');
    const options = { directory: temporaryFolder(), isCommand: true };
    const [{ id }] = (await store.listNodes()) as [NodeRecord];
    const command = await open('beside', options);
    expect(await command.listNodes()).toEqual([expect.objectContaining({ id })]);
    await expect(open('beside', options)).rejects.toEqual(failureWith('store_locked', 503));
  });

  it('serves other accounts while the queries of one wait for the database', async () => {
    const store = await open('fair');
    const first = await owner(store);
    const second = await store.createAccount({ name: 'second', plan: 'free', credits: 0 });
    const blocking = new pg.Client({ connectionString: server().url });
    await blocking.connect();
    await blocking.query('BEGIN; LOCK TABLE fair.usage');
    const days = { from: '2026-01-01', to: '2026-12-31' };
    let answered = 0;
    const reports = Array.from({ length: 20 }, async () => {
      await store.listUsage(first.account.id, days);
      answered += 1;
    });
    expect(await store.grant(second.id, 5)).toMatchObject({ granted: 5 });
    expect(await store.listLedger(second.id, { limit: 10 })).toHaveLength(1);
    expect(answered).toBe(0);
    await blocking.query('ROLLBACK');
    await blocking.end();
    await Promise.all(reports);
  });

  it('reports its connections and the credits drawn in advance as metrics', async () => {
    const store = await open('measured');
    const { account, key } = await owner(store, 100 * CREDIT);
    await store.release(await store.reserve(account.id, key.id, CREDIT));
    const registry = new MetricRegistry();
    addStoreMetrics(registry, store);
    const metrics = await registry.metrics();
    expect(metrics).toMatch(/^oriel_escrow_idle_credits [1-9]/m);
    expect(metrics).toMatch(/^oriel_database_calls_waiting \d+$/m);
    expect(metrics).toMatch(/^oriel_database_connections_busy \d$/m);
  });

  it('keeps every acknowledged task and charge when the server is killed under load', async () => {
    const store = await open('killed');
    const { account, key } = await owner(store, 1_000_000 * CREDIT);
    const acknowledged: string[] = [];
    let [charged, isOver] = [0, false];
    const client = async (index: number) => {
      for (let round = 0; !isOver; round += 1) {
        const idempotency = { key: `${index} ${round}`, fingerprint: 'f' };
        // A request without an answer is repeated with its key, as clients do.
        while (!isOver) {
          const made = await store
            .createTask(taskFor(key, { idempotency, reservation: 1 }))
            .catch(() => null);
          if (made === null) continue;
          acknowledged.push(made.task.id);
          break;
        }
        const payer = { accountId: account.id, keyId: key.id };
        const charge = store.settle(payer, { model: 'm', counts: {}, charge: 1 });
        const amount = await charge.catch(() => 0);
        charged += amount;
      }
    };
    const clients = Promise.all(Array.from({ length: 16 }, (_, index) => client(index)));
    for (let crash = 1; crash <= 3; crash += 1) {
      const before = acknowledged.length;
      while (acknowledged.length < before + 100) await new Promise(setImmediate);
      server().crash();
    }
    isOver = true;
    await clients;
    await store.close();
    const again = await open('killed');
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
    for (const id of acknowledged) expect(await again.findTask(account.id, id)).toBeDefined();
    expect(await again.findAccount(account.id)).toMatchObject({ spent: charged });
  });
});
