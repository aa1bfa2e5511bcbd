import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/drivers/postgres/open.ts';
import { describeWith } from '../../engines/engine.ts';
import { PGBOUNCER, startPgbouncer, type TestPgbouncer } from '../../engines/pgbouncer.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder } from '../../oriel.ts';
import { describeCredits } from '../conformance/credits.ts';
import { describeTasks } from '../conformance/tasks.ts';
import { owner } from '../records.ts';
import { postgresDriver } from './postgres-driver.ts';

describeWith([PGBOUNCER], 'through pgbouncer in transaction mode', () => {
  describeWithPostgres('the PostgreSQL driver', (server) => {
    let pgbouncer: TestPgbouncer | undefined;
    beforeAll(async () => {
      pgbouncer = await startPgbouncer({ postgresPort: server().port, users: ['oriel'] });
    });
    afterAll(() => pgbouncer?.close());
    const driver = postgresDriver(server, () => pgbouncer!.urlOf('oriel', 'postgres'));
    // Every record is read and written by the same calls of `Database`, the only place that knows connections.
    describeCredits(driver);
    // The plan of a query is the server's, whatever is in front of it.
    describeTasks(driver, 50);

    it('excludes other nodes by locks and sees their changes without listenUrl', async () => {
      const url = pgbouncer!.urlOf('oriel', 'postgres');
      const open = () =>
        openPostgresStore({ directory: temporaryFolder(), url, poolSize: 4, schema: 'unheard' });
      const one = await open();
      const other = await open();
      const { key } = await owner(one);
      expect(await other.findKey(key.hash)).toMatchObject({ key: { revokedAt: null } });
      await one.revokeKey(key.id);
      const seen = async () => (await other.findKey(key.hash))?.key.revokedAt;
      await expect.poll(seen).toEqual(expect.any(Number));
      let [holders, most] = [0, 0];
      const work = async () => {
        holders += 1;
        most = Math.max(most, holders);
        await one.listAccounts();
        holders -= 1;
      };
      const stores = [one, other, one, other, one, other];
      await Promise.all(stores.map((store) => store.withLock('one at a time', work)));
      expect(most).toBe(1);
      await Promise.all([one.close(), other.close()]);
    });
  });
});
