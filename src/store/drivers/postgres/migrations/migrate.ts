import { Failure } from '../../../../failure.ts';
import { BEGIN, type Connection, type Database } from '../database/database.ts';
import { KEY, TABLES } from './0001-tables.ts';

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
  throw new Failure('service_error', message, { code: 'store_unavailable' });
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
  return new Failure('service_error', message, { code: 'store_newer' });
}

// One constant for each version after the first, in the order of migrate.ts.

/** Answers that equal requests get again, and the count of such requests. */
const CACHED_ANSWERS = `
ALTER TABLE $schema.usage ADD COLUMN cache_hits bigint NOT NULL DEFAULT 0;

CREATE TABLE $schema.cached_answers (
  account_id ${KEY} NOT NULL,
  key ${KEY} NOT NULL,
  model text NOT NULL,
  stored_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  used_at bigint NOT NULL,
  bytes bigint NOT NULL,
  exchange text NOT NULL,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX cached_answers_expiry ON $schema.cached_answers (expires_at);
CREATE INDEX cached_answers_use ON $schema.cached_answers (model, used_at);
`;

/**
 * Providers and models that commands have added. The record is a document, and has secrets only as ciphertext.
 */
const CONFIG_ENTRIES = `
CREATE TABLE $schema.config_entries (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  record json NOT NULL,
  PRIMARY KEY (kind, name)
);
`;

/** The log of requests, and their bodies apart, which are kept for a shorter time. */
const REQUESTS = ['requests', 'request_bodies']
  .map(
    (table) => `
CREATE TABLE $schema.${table} (
  number bigint ${table === 'requests' ? 'GENERATED ALWAYS AS IDENTITY' : ''} PRIMARY KEY,
  id ${KEY} NOT NULL,
  account_id ${KEY},
  key_id ${KEY},
  at bigint NOT NULL,
  record json NOT NULL
);
CREATE INDEX ${table}_account ON $schema.${table} (account_id, number);
CREATE INDEX ${table}_key ON $schema.${table} (key_id, number);
CREATE INDEX ${table}_id ON $schema.${table} (id, number);
CREATE INDEX ${table}_time ON $schema.${table} (at);
`,
  )
  .join('');

/**
 * Usage of requests with tags. It is a table of its own, since nodes of earlier versions go on while they know the key
 * of the other. `seq` is from the sequence of that one, so that both have one order. Tags of tasks are in their records.
 */
const TAGGED_USAGE = `
CREATE TABLE $schema.tagged_usage (LIKE $schema.usage INCLUDING STORAGE, tags ${KEY} NOT NULL);
ALTER TABLE $schema.tagged_usage
  ADD PRIMARY KEY (account_id, day, key_id, team_id, model, tags), SET (fillfactor = 70);
CREATE INDEX tagged_usage_day ON $schema.tagged_usage (day);
`;

/** The latest alerts, and the windows in which they are not raised again. */
const ALERTS = `
CREATE TABLE $schema.alerts (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record json NOT NULL
);
CREATE TABLE $schema.alert_claims (
  subject ${KEY} PRIMARY KEY,
  span text NOT NULL,
  level integer NOT NULL,
  until bigint NOT NULL,
  id text NOT NULL,
  at bigint NOT NULL
);
`;

/** In the order of versions. A published migration is never changed. */
const MIGRATIONS: readonly string[] = [
  TABLES,
  CACHED_ANSWERS,
  CONFIG_ENTRIES,
  REQUESTS,
  TAGGED_USAGE,
  ALERTS,
];
