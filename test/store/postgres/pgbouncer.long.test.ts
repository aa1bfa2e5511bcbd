import { afterAll, beforeAll } from 'vitest';
import { describeWith } from '../../engines/engine.ts';
import { PGBOUNCER, startPgbouncer, type TestPgbouncer } from '../../engines/pgbouncer.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { describeAccounts } from '../conformance/accounts.ts';
import { describeCredits } from '../conformance/credits.ts';
import { describeDeliveries } from '../conformance/deliveries.ts';
import { describeTasks } from '../conformance/tasks.ts';
import { postgresDriver } from './postgres-driver.ts';

describeWith([PGBOUNCER], 'through pgbouncer in transaction mode', () => {
  describeWithPostgres('the PostgreSQL driver', (server) => {
    let pgbouncer: TestPgbouncer | undefined;
    beforeAll(async () => {
      pgbouncer = await startPgbouncer({ postgresPort: server().port, users: ['oriel'] });
    });
    afterAll(() => pgbouncer?.close());
    const driver = postgresDriver(server, () => pgbouncer!.urlOf('oriel', 'postgres'));
    describeAccounts(driver);
    describeCredits(driver);
    describeTasks(driver);
    describeDeliveries(driver);
  });
});
