import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { requireKey } from '../../../src/administration/find.ts';
import { openPostgresStore } from '../../../src/store/drivers/postgres/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder } from '../../oriel.ts';
import { completionOf, owner, taskFor } from '../records.ts';

/** Tasks, most of them completed. */
const COUNT = 100_000;

/** Executions after which the server keeps a plan. */
const KEPT_AFTER = 10;

const fill = (schema: string) => `
INSERT INTO ${schema}.tasks (id, account_id, key_id, type, model, status, attempts, reserved, charged, created_at,
  updated_at, deadline, bytes, request, record)
SELECT 'task_' || md5(n::text), k.account_id, k.id, 'image', 'some-image-model',
  CASE n % 5000 WHEN 0 THEN 'failed' WHEN 1 THEN 'pending' WHEN 2 THEN 'processing' ELSE 'completed' END, 1, 0, 0,
  1763000000000 + n, 1763000000000 + n, 4000000000000, 100, '{}', '{}'
FROM generate_series(1, ${COUNT}) AS n, ${schema}.keys AS k;
INSERT INTO ${schema}.ledger (account_id, key_id, type, amount, task_id, model, at, available)
SELECT account_id, key_id, 'charge', 1, id, model, updated_at, 0 FROM ${schema}.tasks;
UPDATE ${schema}.accounts SET completed = ${COUNT}, pending = 20, processing = 20, ended_bytes = ${COUNT}::bigint * 100;`;

const FILL_KEYS = `
INSERT INTO named.keys (id, account_id, hash, hint, created_at, reserved, spent, record)
SELECT 'key_' || md5(n::text), account_id, md5(n::text), 'sk-oriel-' || n || '…', created_at, 0, 0,
  json_build_object('id', 'key_' || md5(n::text), 'accountId', account_id, 'hash', md5(n::text))
FROM generate_series(1, 20000) AS n, named.keys;`;

describeWithPostgres('the indexes of the PostgreSQL store', (server) => {
  /** Scans of tasks and of the ledger: whole tables, and whether indexes were read. */
  const scans = (schema: string) =>
    server().sql(`SELECT relname, seq_scan, idx_scan > 0 FROM pg_stat_user_tables
      WHERE schemaname = '${schema}' AND relname IN ('tasks', 'ledger') ORDER BY relname`);
  // Processes of the server report their scans at their end, those of new indexes included.
  const close = async (store: Store) => {
    await store.close();
    const count = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'oriel%'";
    await expect.poll(() => server().sql(count)).toBe('0\n');
  };

  it('find a key by what an administrator calls it without reading others', async () => {
    const directory = temporaryFolder();
    const store = await openPostgresStore({
      directory,
      url: server().url,
      poolSize: 4,
      schema: 'named',
    });
    const { key } = await owner(store);
    server().sql(FILL_KEYS);
    server().sql('SELECT pg_stat_reset()');
    const find = (text: string) => requireKey(store, text);
    expect((await find(key.id)).id).toBe(key.id);
    expect((await find(key.hint)).id).toBe(key.id);
    expect((await find(key.id.slice(0, -1))).id).toBe(key.id);
    await expect(find('sk-oriel-Zz9z…zzzz')).rejects.toMatchObject({ code: 'key_not_found' });
    await expect(find('key_zzzzzzzz')).rejects.toMatchObject({ code: 'key_not_found' });
    await close(store);
    const rows = server().sql(`SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables
      WHERE schemaname = 'named' AND relname = 'keys'`);
    expect(Number(rows)).toBeLessThan(100);
  });

  it(`serve every query over ${COUNT} tasks without reading a whole table`, async () => {
    const { url } = server();
    const directory = temporaryFolder();
    const open = () => openPostgresStore({ directory, url, poolSize: 4, schema: 'many' });
    const first = await open();
    const { account, key } = await owner(first);
    await close(first);
    server().sql(`${fill('many')} ANALYZE;`);
    server().sql('SELECT pg_stat_reset()');
    const store = await open();
    onTestFinished(() => store.close());
    const page = { limit: 50 };
    for (const status of [undefined, 'pending', 'processing', 'completed', 'failed'] as const) {
      for (const accountId of [undefined, account.id]) {
        const query = { ...(accountId && { accountId }), ...(status && { status }) };
        const [newest] = await store.listTasks(query, page);
        await store.listTasks(query, { ...page, after: newest!.id });
      }
    }
    const idempotency = { key: 'once', fingerprint: 'f' };
    const { task } = await store.createTask(taskFor(key, { idempotency }));
    await store.findTaskByIdempotencyKey(account.id, idempotency);
    await store.findTask(account.id, task.id);
    await store.listDeliveries(account.id, task.id);
    const [claimed] = await store.claimPending({ limit: 10 });
    await store.completeTask(claimed!, completionOf());
    expect(await store.claimOrphans({ limit: 10 })).toHaveLength(10);
    await store.expireOverdue(10);
    expect((await store.deleteTasks(1763000000100)).tasks).toHaveLength(97);
    const limits = { tasks: COUNT - 200, bytes: Infinity };
    expect((await store.trimTasks(account.id, limits)).tasks.length).toBeGreaterThan(0);
    await store.deleteInputs();
    await store.listLedger(account.id, { limit: 50, after: 1000 });
    await store.timeRange();
    await store.statistics();
    await store.listNodes();
    await close(store);
    expect(scans('many')).toBe('ledger|0|t\ntasks|0|t\n');
  });

  it('serve transactions whose plans the server has kept since the tables were empty', async () => {
    const { url } = server();
    const directory = temporaryFolder();
    const open = () => openPostgresStore({ directory, url, poolSize: 4, schema: 'grown' });
    const first = await open();
    const { key } = await owner(first);
    await close(first);
    const store = await open();
    onTestFinished(() => store.close());
    const work = async () => {
      const idempotency = { key: randomUUID(), fingerprint: 'f' };
      const { task } = await store.createTask(taskFor(key, { idempotency }));
      await store.completeTask((await store.claimTask(task.id))!, completionOf());
    };
    for (let round = 0; round < KEPT_AFTER; round += 1) await work();
    server().sql(fill('grown'));
    server().sql('SELECT pg_stat_reset()');
    await work();
    await close(store);
    expect(scans('grown')).toBe('ledger|0|f\ntasks|0|t\n');
  });
});
