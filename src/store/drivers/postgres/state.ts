import { Database } from './database/database.ts';
import { notOpened } from './database/errors.ts';
import { KNOWN_VERSION, versionOf } from './migrations/migrate.ts';
import { verified } from './open.ts';

/** What an operator has to know of a database. */
export interface DatabaseState {
  /** Version of PostgreSQL. */
  readonly server: string;
  /** Version of the schema, 0 without one, and the one that this program makes of it. */
  readonly schema: number;
  readonly known: number;
  /** Connections of all programs, and how many the server accepts. */
  readonly used: number;
  readonly most: number;
  /** Milliseconds by which this clock is ahead. */
  readonly skew: number;
  /** Milliseconds of one statement. */
  readonly milliseconds: number;
}

const STATEMENT = `
  SELECT current_setting('server_version') AS server,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
    current_setting('max_connections')::bigint AS most,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;

/** Reads the state of a database, which it does not change. @throws Failure `store_unavailable` */
export async function readDatabaseState(url: string, schema: string): Promise<DatabaseState> {
  const database = new Database({ url: verified(url), poolSize: 1, schema });
  try {
    const version = await database.retry(() => database.once(versionOf));
    const began = Date.now();
    const [row] = await database.query<{ server: string; used: number; most: number; now: number }>(
      STATEMENT,
    );
    const ended = Date.now();
    const skew = Math.round((began + ended) / 2 - row!.now);
    const { now: _, ...found } = row!;
    return { ...found, schema: version, known: KNOWN_VERSION, skew, milliseconds: ended - began };
  } catch (error) {
    throw notOpened(error, url);
  } finally {
    await database.close();
  }
}
