import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import pg from 'pg';
import { afterAll, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../../src/store/drivers/postgres/open.ts';
import type { PostgresServer } from '../../engines/postgres.ts';
import { memoryFolder } from '../../oriel.ts';
import type { DriverFactory, OpenOptions } from '../conformance/driver-factory.ts';

/** A schema without records. */
const EMPTY = 'empty';

/**
 * The driver on a server of the tests, for the suite that all drivers pass. Each folder has a schema of its own.
 * Tests use the schemas of earlier ones, because migrating a new one takes longer than most tests.
 *
 * @param pooler URL of a pooler in front of the server
 */
export function postgresDriver(server: () => PostgresServer, pooler?: () => string): DriverFactory {
  const schemas = new Map<string, string>();
  const unused: string[] = [];
  let count = 0;
  let client: pg.Client | undefined;
  afterAll(() => client?.end());
  const open = (directory: string, schema: string, options: OpenOptions = {}) => {
    const { url: listenUrl } = server();
    const url = pooler?.() ?? listenUrl;
    return openPostgresStore({ directory, url, listenUrl, poolSize: 4, schema, ...options });
  };
  const migrate = async (schema: string) => {
    await (await open(memoryFolder(), schema)).close();
    return schema;
  };
  /** A schema for a new folder, which may have records of an earlier test. */
  const take = async () => {
    if (!client) {
      client = new pg.Client(server().url);
      await client.connect();
      await migrate(EMPTY);
    }
    const schema = unused.pop() ?? (await migrate(`s${++count}`));
    onTestFinished(() => {
      unused.push(schema);
    });
    return schema;
  };
  return {
    async open(directory, options) {
      if (!schemas.has(directory)) {
        const schema = await take();
        schemas.set(directory, schema);
        await client!.query(copyOf(EMPTY, schema));
      }
      return open(directory, schemas.get(directory)!, options);
    },
    openAnother: (directory, options) => open(memoryFolder(), schemas.get(directory)!, options),
    async copyAsCrashed(folder) {
      const [to, schema] = [memoryFolder(), await take()];
      // At one moment: nothing is acknowledged between the files and the records.
      cpSync(folder, to, { recursive: true, filter: (source) => basename(source) !== 'lock' });
      server().sql(copyOf(schemas.get(folder)!, schema));
      schemas.set(to, schema);
      return to;
    },
  };
}

/** Copies the records of a schema at one moment. The leases of its nodes have ended in the copy. */
function copyOf(from: string, to: string): string {
  return `
BEGIN ISOLATION LEVEL REPEATABLE READ;
DO $do$ DECLARE t record; BEGIN
  FOR t IN SELECT relname AS name, string_agg(attname, ', ') AS columns, max(attname) FILTER (WHERE attidentity <> '') AS place
    FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND attgenerated = ''
    WHERE relnamespace = '${from}'::regnamespace AND relkind = 'r' GROUP BY relname LOOP
    IF pg_relation_size(to_regclass('${to}.' || t.name)) > 0 THEN
      EXECUTE format('TRUNCATE ${to}.%I', t.name);
    END IF;
    EXECUTE format('INSERT INTO ${to}.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM ${from}.%1$I', t.name, t.columns);
    IF t.place IS NOT NULL THEN
      PERFORM setval(pg_get_serial_sequence('${to}.' || t.name, t.place),
        nextval(pg_get_serial_sequence('${from}.' || t.name, t.place)));
    END IF;
  END LOOP;
  UPDATE ${to}.nodes SET alive_until = now() - interval '1 minute', escrow_until = now();
END $do$;
COMMIT;`;
}
