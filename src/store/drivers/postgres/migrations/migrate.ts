import { codedFailure, type Failure } from '../../../../failure.ts';
import { BEGIN, type Connection, type Database } from '../database/database.ts';
import { MIGRATIONS } from './later-tables.ts';

/** Of the advisory lock under which one process migrates at a time: "oriel" in ASCII. */
const LOCK = 0x6f7269656c;

/**
 * Brings a schema to the version of this program.
 *
 * @throws Failure `store_newer` where a later program has migrated it; `store_unavailable`
 */
export async function migrate(database: Database): Promise<void> {
  await database.retry(() =>
    database.once(async (connection) => {
      await checkEncoding(connection);
      if ((await versionOf(connection)) === MIGRATIONS.length) return;
      await connection.query(BEGIN);
      // Migrations of a large store, and those of another node, may take minutes.
      await connection.query('SET LOCAL statement_timeout = 0');
      await connection.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
      await connection.query('CREATE SCHEMA IF NOT EXISTS $schema');
      await connection.query(
        'CREATE TABLE IF NOT EXISTS $schema.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())',
      );
      const version = await versionOf(connection);
      if (version > MIGRATIONS.length) throw newer(version, database.options.schema);
      for (const [index, text] of MIGRATIONS.entries()) {
        if (index < version) continue;
        await connection.query(text);
        await connection.query('INSERT INTO $schema.migrations (version) VALUES ($1)', [index + 1]);
      }
      await connection.query('COMMIT');
    }),
  );
}

/** @throws Failure `store_unavailable` where the database cannot hold every character */
async function checkEncoding(connection: Connection): Promise<void> {
  const [row] = await connection.query<{ name: string }>(
    `SELECT current_setting('server_encoding') AS name`,
  );
  if (row!.name === 'UTF8') return;
  const message = `the database has the encoding ${row!.name}: create one WITH ENCODING 'UTF8'`;
  throw codedFailure('store_unavailable', message);
}

/** The version to which this program brings a schema. */
export const KNOWN_VERSION = MIGRATIONS.length;

/** Version of the schema; 0 where there is none. */
export async function versionOf(connection: Connection): Promise<number> {
  const [table] = await connection.query<{ name: string | null }>(
    `SELECT to_regclass('$schema.migrations')::text AS name`,
  );
  if (table!.name === null) return 0;
  const [row] = await connection.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM $schema.migrations',
  );
  return row!.version ?? 0;
}

function newer(version: number, schema: string): Failure {
  const message = `a later version of Oriel has migrated this database: its schema ${schema} has version ${version}, and this program knows versions up to ${MIGRATIONS.length}. Run that version or a newer one, or restore the database from before the upgrade.`;
  return codedFailure('store_newer', message);
}
