import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addStoreMetrics } from '../../../src/http/state-metrics.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder } from '../../oriel.ts';
import { failureWith } from '../fresh-store.ts';
import { CREDIT, owner, taskFor } from '../records.ts';

describeWithPostgres('a store on PostgreSQL', (server) => {
  const open = (schema: string, url = server().url) =>
    openPostgresStore({ directory: temporaryFolder(), url, poolSize: 4, schema });

  it('is migrated once by nodes that start together', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => open('together')));
    expect(server().sql('SELECT count(*) FROM together.migrations').trim()).toBe('1');
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is refused by a program that is older than its schema', async () => {
    await (await open('newer')).close();
    server().sql('INSERT INTO newer.migrations (version) VALUES (99)');
    await expect(open('newer')).rejects.toEqual(failureWith('store_newer', 500));
    await expect(open('newer')).rejects.toThrow('the schema newer of the database has version 99');
  });

  it('that does not answer is an error in bounded time, without the password', async () => {
    const url = 'postgres://oriel:secret-password@127.0.0.1:1/postgres';
    const failure = await open('away', url).catch((error: Error) => error);
    expect(failure).toEqual(failureWith('store_unavailable', 503));
    expect(`${failure}`).not.toContain('secret-password');
  });

  it('reports its connections and the credits drawn in advance as metrics', async () => {
    const store = await open('measured');
    const { account, key } = await owner(store, 100 * CREDIT);
    await store.release(await store.reserve(account.id, key.id, CREDIT));
    const registry = new Registry();
    addStoreMetrics(registry, store);
    const metrics = await registry.metrics();
    expect(metrics).toMatch(/^oriel_escrow_idle_credits [1-9]/m);
    expect(metrics).toMatch(/^oriel_database_calls_waiting \d+$/m);
    expect(metrics).toMatch(/^oriel_database_connections_busy \d$/m);
    await store.close();
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
    await again.close();
  });
});
