import { describeWithPostgres } from '../../engines/postgres.ts';
import { describeStoreDriver } from '../conformance/driver.ts';
import { postgresDriver } from './postgres-driver.ts';

describeWithPostgres('the PostgreSQL driver', (server) => {
  describeStoreDriver(postgresDriver(server));
});
