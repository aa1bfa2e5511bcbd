import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { closed } from '../../../errors.ts';
import type { StoreOptions } from '../../../options.ts';
import { failureOf, isAway, isUnprepared, unavailable } from './errors.ts';
import { PreparedStatements } from './prepared-statements.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:5432/database`. */
  readonly url: string;
  /** Maximum number of connections of this process, beside the one that listens. */
  readonly poolSize: number;
  readonly schema: string;
  readonly starting?: StoreOptions['starting'];
  readonly onWait?: StoreOptions['onWait'];
}

/** Milliseconds for a connection, or for a free one of the pool. */
const CONNECT_MS = 3000;

/** Milliseconds for one statement: on the server, and here where the server does not answer. */
const STATEMENT_MS = 20_000;
const ANSWER_MS = 25_000;

/** Milliseconds after which the server ends the lock of a host that vanished. Work under a lock is shorter. */
const LOCK_MS = 600_000;

/** Milliseconds that a node may take between two statements: a node that was stopped locks accounts for all. */
const IDLE_MS = 5000;

/** Milliseconds for which calls are repeated while the database is away. */
const RETRY_TIMEOUT_MS = 5000;

/** Backoff between two attempts, in milliseconds: keys that other nodes revoke after a restart wait for the longest. */
const [FIRST_DELAY_MS, MAX_DELAY_MS] = [25, 200];

const BIGINT = 20;

/** bigint columns hold amounts, times and counts, which are exact in a double. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === BIGINT ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

export type Row = Readonly<Record<string, unknown>>;

/** A statement whose tables are written as `$schema.tasks`. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Runs statements in a transaction, or by themselves. Calls that wait for none of the others share a round trip. */
export interface Connection {
  query<Found = Row>(text: string, values?: readonly unknown[]): Promise<Found[]>;
}

export interface PreparingConnection extends Connection {
  /** As `query`, for texts of which there are few: the server keeps the plan of each where it can. */
  prepared<Found = Row>(text: string, values: readonly unknown[]): Promise<Found[]>;
}

/**
 * Connections to a database. No session keeps a setting, and through a pooler all statements are unnamed, so that
 * pgbouncer can give each transaction another connection.
 */
export class Database implements Connection {
  readonly options: DatabaseOptions;
  readonly #connection: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #schema: string;
  readonly #statements: PreparedStatements;
  /** Time of the first failure since the last answer; 0 while the database answers. */
  #awaySince = 0;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    this.options = options;
    this.#schema = `"${options.schema}"`;
    this.#statements = new PreparedStatements((text) => this.inSchema(text));
    this.#connection = {
      connectionString: options.url,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    };
    this.#pool = new pg.Pool({
      ...this.#connection,
      max: options.poolSize,
      query_timeout: ANSWER_MS,
      idleTimeoutMillis: 30_000,
      application_name: 'oriel',
      pipeline: true,
      types,
      onConnect: (client) => this.#statements.connected(client),
    });
    // Connections that break while they are idle are replaced at the next use.
    this.#pool.on('error', () => {});
  }

  /** Calls that wait for a connection. */
  get waiting(): number {
    return this.#pool.waitingCount;
  }

  /** Connections in use. */
  get busy(): number {
    return this.#pool.totalCount - this.#pool.idleCount;
  }

  /** Whether calls wait for the database for any time. */
  get isStarting(): boolean {
    return this.options.starting?.aborted === false;
  }

  inSchema(text: string): string {
    return text.replaceAll('$schema', this.#schema);
  }

  /** Runs a statement that reads, again while the database is away. @throws Failure `store_unavailable` */
  async query<Found = Row>(text: string, values?: readonly unknown[]): Promise<Found[]> {
    return this.retry(() => this.once((connection) => connection.query<Found>(text, values)));
  }

  /** Runs a transaction that may run again although it was committed. @throws Failure `store_unavailable` */
  async transaction<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.retry(() =>
      this.once(async (connection) => {
        await connection.query(BEGIN);
        const result = await work(connection);
        await connection.query('COMMIT');
        return result;
      }),
    );
  }

  /** Runs queries that all see the same moment. @throws Failure `store_unavailable` */
  async snapshot<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.transaction(async (connection) => {
      await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      return work(connection);
    });
  }

  /** Repeats work while the database is away, for a limited time. */
  async retry<Result>(work: () => Promise<Result>): Promise<Result> {
    const until = Date.now() + this.retryTimeoutMs;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isAway(error)) throw failureOf(error);
        if (!this.isStarting && Date.now() >= until) throw unavailable(error);
        await this.backoff(attempt, error);
      }
    }
  }

  /** Milliseconds for which a call is repeated: none where the calls before it waited in vain. */
  get retryTimeoutMs(): number {
    // Until the start is cancelled.
    if (this.isStarting) return 0;
    const isLong = this.#awaySince > 0 && Date.now() - this.#awaySince > RETRY_TIMEOUT_MS;
    return isLong ? 0 : RETRY_TIMEOUT_MS;
  }

  async backoff(attempt: number, error: unknown): Promise<void> {
    if (this.isStarting) this.options.onWait?.(unavailable(error));
    const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
    // Random, so that the nodes do not return at the same moment.
    await delay(longest * (0.5 + Math.random() / 2));
  }

  /** Runs work on one connection. A connection with an error, or an open transaction, is closed. */
  async once<Result>(work: (connection: PreparingConnection) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw closed();
    let client: pg.PoolClient | undefined;
    let fault: Error | undefined;
    // An error between two statements: the next statement fails.
    const ignore = () => {};
    try {
      client = await this.#pool.connect();
      client.on('error', ignore);
      const open = client;
      const result = await work({
        query: async <Found>(text: string, values?: readonly unknown[]) => {
          sendTogether(open.connection);
          const answer = await open.query(this.inSchema(text), values?.map(finite));
          // Several statements in one text have several answers.
          const last = Array.isArray(answer) ? (answer as pg.QueryResult[]).at(-1)! : answer;
          return last.rows as Found[];
        },
        prepared: async <Found>(text: string, values: readonly unknown[]) => {
          sendTogether(open.connection);
          const statement = this.#statements.of(open, text);
          const { rows } = await open.query({ ...statement, values: values.map(finite) });
          return rows as Found[];
        },
      });
      this.#awaySince = 0;
      return result;
    } catch (error) {
      fault = error as Error;
      if (isUnprepared(error)) this.#statements.disable();
      if (isAway(error)) this.#awaySince ||= Date.now();
      throw error;
    } finally {
      client?.off('error', ignore);
      client?.release(fault);
    }
  }

  /** A connection in a transaction that reads one moment, for any time. @throws Failure `store_unavailable` */
  async openSnapshot(): Promise<Connection & { end(): Promise<void> }> {
    const client = await this.retry(async () => {
      const opened = await this.#pool.connect();
      await opened.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      return opened;
    });
    return {
      query: async <Found>(text: string, values?: readonly unknown[]) =>
        (await client.query(this.inSchema(text), values as unknown[])).rows as Found[],
      end: async () => {
        await client.query('ROLLBACK').then(
          () => client.release(),
          (error: Error) => client.release(error),
        );
      },
    };
  }

  /**
   * Runs work that one process at a time may do. The lock is that of a transaction, because in transaction mode
   * pgbouncer keeps no session, on a connection beside the pool, whose connections the work needs.
   *
   * @throws Failure `store_unavailable` before the work has begun
   */
  async withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const client = await this.retry(async () => {
      if (this.#isClosed) throw closed();
      const opened = new pg.Client({ ...this.#connection, application_name: 'oriel lock' });
      // An error while the work goes on: the lock is lost, and ROLLBACK fails.
      opened.on('error', () => {});
      try {
        await opened.connect();
        await opened.query(
          `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = ${LOCK_MS}`,
        );
        await opened.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
          `${this.options.schema} ${name}`,
        ]);
        return opened;
      } catch (error) {
        void opened.end().catch(() => {});
        throw error;
      }
    });
    try {
      return await work();
    } finally {
      await client.end().catch(() => {});
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#pool.end();
  }
}

/** Sends the statements of this turn of the event loop in one write, which wakes the server once. */
function sendTogether({ stream }: pg.Connection): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** A limit without an end: columns hold whole numbers. */
function finite(value: unknown): unknown {
  if (value === Infinity) return Number.MAX_SAFE_INTEGER;
  return value === -Infinity ? -Number.MAX_SAFE_INTEGER : value;
}

/**
 * Begins a transaction of bounded time. The limits are set for it alone: in transaction mode pgbouncer
 * refuses them as parameters of a connection.
 */
export const BEGIN = `BEGIN; SET LOCAL statement_timeout = ${STATEMENT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`;
