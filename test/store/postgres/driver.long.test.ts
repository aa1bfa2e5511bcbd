import { describeWithPostgres } from '../../engines/postgres.ts';
import { describeAccounts } from '../conformance/accounts.ts';
import { describeSessions } from '../conformance/sessions.ts';
import { postgresDriver } from './postgres-driver.ts';

describeWithPostgres('the PostgreSQL driver', (server) => {
  describeAccounts(postgresDriver(server));
  describeSessions(postgresDriver(server));
});
