import { newId } from '../identifier.ts';
import type { Nodes } from '../nodes.ts';
import type { NodeRecord } from '../store.ts';
import type { Connection, Database } from './database.ts';

/** Milliseconds of a lease, and between two extensions of it. */
const LEASE_MS = 15_000;
const HEARTBEAT_MS = 3000;

/** Rows of dead nodes, and numbers of their transactions, are kept for this time. */
const KEPT = "interval '1 day'";

interface NodeOptions {
  readonly database: Database;
  readonly node: Pick<NodeRecord, 'name' | 'version'>;
  /** Called when the lease was lost; `id` is already the new one. */
  readonly onLost: () => void;
  /** Called after each heartbeat. */
  readonly onHeartbeat: () => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/**
 * The row of this process among the living nodes. A node extends its lease by the clock of the database. Once
 * the lease has ended it never comes back to life: the node takes a new identifier.
 */
export class NodeLease implements Nodes {
  readonly #options: NodeOptions;
  readonly #startedAt = Date.now();
  readonly #listeners = new Set<() => void>();
  #id = newId('node');
  /** Identifiers of living nodes, by their age. */
  #living: readonly string[] = [];
  /** Monotonic time before which the lease cannot have ended. */
  #validUntil = 0;
  #isRegistered = false;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: NodeOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#id;
  }

  /** Whether the lease holds for sure. */
  get isValid(): boolean {
    return this.#isRegistered && performance.now() < this.#validUntil;
  }

  alive(): number {
    return Math.max(1, this.#living.length);
  }

  rank(): number {
    return Math.max(0, this.#living.indexOf(this.#id));
  }

  isLeader(): boolean {
    return this.isValid && this.#living[0] === this.#id;
  }

  isAlive(id: string): boolean {
    return this.#living.includes(id);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Registers the node. @throws Failure `store_unavailable` */
  async open(): Promise<void> {
    await this.#options.database.retry(() => this.#register());
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#beating;
    await this.#options.database
      .query('DELETE FROM $schema.nodes WHERE id = $1', [this.#id])
      .catch(this.#options.onFault);
  }

  async #register(): Promise<void> {
    const { database, node } = this.#options;
    const sentAt = performance.now();
    await database.once(async (connection) => {
      await connection.query(
        `INSERT INTO $schema.nodes (id, name, version, started_at, alive_until)
         VALUES ($1, $2, $3, $4, now() + interval '${LEASE_MS} milliseconds')
         ON CONFLICT (id) DO NOTHING`,
        [this.#id, node.name, node.version, this.#startedAt],
      );
      await this.#readLiving(connection);
    });
    this.#isRegistered = true;
    this.#validUntil = sentAt + LEASE_MS;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().finally(() => {
        this.#beating = null;
        this.#schedule();
      });
    }, HEARTBEAT_MS).unref();
  }

  async #beat(): Promise<void> {
    try {
      if (this.#isRegistered && performance.now() >= this.#validUntil) this.#lose();
      if (this.#isRegistered) await this.#extend();
      else await this.#register();
      await this.#options.onHeartbeat();
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  async #extend(): Promise<void> {
    const sentAt = performance.now();
    const isExtended = await this.#options.database.once(async (connection) => {
      const rows = await connection.query(
        `UPDATE $schema.nodes SET alive_until = now() + interval '${LEASE_MS} milliseconds'
         WHERE id = $1 AND alive_until > now() RETURNING id`,
        [this.#id],
      );
      await this.#readLiving(connection);
      return rows.length === 1;
    });
    if (isExtended) this.#validUntil = sentAt + LEASE_MS;
    else {
      this.#lose();
      await this.#register();
    }
  }

  #lose(): void {
    this.#id = newId('node');
    this.#isRegistered = false;
    this.#options.onLost();
  }

  async #readLiving(connection: Connection): Promise<void> {
    const rows = await connection.query<{ id: string }>(
      'SELECT id FROM $schema.nodes WHERE alive_until > now() ORDER BY started_at, id',
    );
    const living = rows.map(({ id }) => id);
    const before = this.#living;
    this.#living = living;
    if (before.join() !== living.join()) for (const listener of this.#listeners) listener();
    // Rarely anything: the leader alone deletes.
    if (living[0] !== this.#id) return;
    await connection.query(`DELETE FROM $schema.nodes WHERE alive_until < now() - ${KEPT}`);
    await connection.query(`DELETE FROM $schema.writers WHERE at < now() - ${KEPT}`);
  }

  async list(): Promise<readonly NodeRecord[]> {
    const rows = await this.#options.database.query<NodeRecord>(
      `SELECT n.id, n.name, n.version, n.started_at AS "startedAt",
         floor(extract(epoch FROM n.alive_until) * 1000)::bigint AS "aliveUntil",
         (SELECT count(*) FROM $schema.tasks AS t WHERE t.status = 'processing' AND t.node = n.id) AS claims
       FROM $schema.nodes AS n ORDER BY n.started_at, n.id`,
    );
    return rows;
  }
}
