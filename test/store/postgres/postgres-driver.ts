import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import { openPostgresStore } from '../../../src/store/drivers/postgres/open.ts';
import type { PostgresServer } from '../../engines/postgres.ts';
import { temporaryFolder } from '../../oriel.ts';
import type { DriverFactory, OpenOptions } from '../conformance/driver-factory.ts';

/** Each folder has a schema of its own. */
function schemaOf(folder: string): string {
  return `s${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`;
}

/**
 * The driver on a server of the tests, for the suite that all drivers pass.
 *
 * @param pooler URL of a pooler in front of the server
 */
export function postgresDriver(server: () => PostgresServer, pooler?: () => string): DriverFactory {
  const open = (directory: string, schema: string, options: OpenOptions = {}) => {
    const { url: listenUrl } = server();
    const url = pooler?.() ?? listenUrl;
    return openPostgresStore({ directory, url, listenUrl, poolSize: 4, schema, ...options });
  };
  return {
    open: (directory, options) => open(directory, schemaOf(directory), options),
    openAnother: (directory, options) => open(temporaryFolder(), schemaOf(directory), options),
    async copyAsCrashed(folder) {
      const copy = temporaryFolder();
      cpSync(folder, copy, { recursive: true, filter: (source) => basename(source) !== 'lock' });
      server().sql(copyOf(schemaOf(folder), schemaOf(copy)));
      return copy;
    },
  };
}

/** Copies a schema at one moment. The leases of its nodes have ended in the copy. */
function copyOf(from: string, to: string): string {
  return `
BEGIN ISOLATION LEVEL REPEATABLE READ;
DO $do$ DECLARE t record; BEGIN
  CREATE SCHEMA ${to};
  FOR t IN SELECT table_name AS name, string_agg(column_name, ', ') AS columns FROM information_schema.columns
    WHERE table_schema = '${from}' AND is_generated = 'NEVER' GROUP BY table_name LOOP
    EXECUTE format('CREATE TABLE ${to}.%1$I (LIKE ${from}.%1$I INCLUDING ALL)', t.name);
    EXECUTE format('INSERT INTO ${to}.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM ${from}.%1$I', t.name, t.columns);
  END LOOP;
  FOR t IN SELECT table_name AS name, column_name AS place FROM information_schema.columns
    WHERE table_schema = '${from}' AND is_identity = 'YES' LOOP
    PERFORM setval(pg_get_serial_sequence('${to}.' || t.name, t.place),
      nextval(pg_get_serial_sequence('${from}.' || t.name, t.place)));
  END LOOP;
  UPDATE ${to}.nodes SET alive_until = now() - interval '1 minute', escrow_until = now();
END $do$;
COMMIT;`;
}
