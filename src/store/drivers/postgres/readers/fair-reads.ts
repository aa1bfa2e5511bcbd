import { FairSemaphore } from '../../../../fair-semaphore.ts';
import type { Connection, Database, Row } from '../database/database.ts';

/** Connections that queries leave to transactions, the lease and the keys of requests. */
const RESERVED_CONNECTIONS = 2;

/**
 * Queries that answer requests, each on one connection of the pool. Accounts take turns, so that one with many
 * requests does not delay the others, and transactions and the lease always find a connection.
 */
export class FairReads {
  readonly #database: Database;
  readonly #slots: FairSemaphore;

  constructor(database: Database) {
    this.#database = database;
    const connections = Math.max(1, database.options.poolSize - RESERVED_CONNECTIONS);
    // One connection is for the other accounts.
    const permitsPerClient = Math.max(1, connections - 1);
    this.#slots = new FairSemaphore(connections, { permitsPerClient });
  }

  /** @param account undefined for a query over all of them. @throws Failure `store_unavailable` */
  query<Found = Row>(
    account: string | undefined,
    text: string,
    values?: readonly unknown[],
  ): Promise<Found[]> {
    return this.#run(account, () => this.#database.query<Found>(text, values));
  }

  /** Runs queries that all see the same moment. @throws Failure `store_unavailable` */
  snapshot<Result>(
    account: string | undefined,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    return this.#run(account, () => this.#database.snapshot(work));
  }

  async #run<Result>(account = '', work: () => Promise<Result>): Promise<Result> {
    const release = await this.#slots.acquire(account);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
