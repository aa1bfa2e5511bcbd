import type { Failure } from '../../../failure.ts';
import { newId } from '../../identifier.ts';
import type { NodeRecord, Nodes } from '../../nodes.ts';
import type { Connection, Database } from './database/database.ts';
import { isAway, unavailable } from './database/errors.ts';

/** Milliseconds of the lease of claims, and between two extensions of the leases. */
const LEASE_MS = 15_000;
const HEARTBEAT_MS = 3000;

/** Milliseconds after which the database counts as away where an extension has no answer. */
const SILENT_MS = 5000;

/**
 * Milliseconds of the lease of escrows: text requests go on while PostgreSQL fails over, which takes half a
 * minute, and known keys are accepted for as long. The credits of a node that died return after it.
 */
const ESCROW_LEASE_MS = 60_000;

/** Difference of the clocks of this machine and of the database that is reported, in milliseconds. */
const MAX_SKEW_MS = 5000;

/** Rows of dead nodes, and numbers of their transactions, are kept for this time. */
const KEPT = "interval '1 day'";

/** The clock of the database, in milliseconds since the epoch. */
const CLOCK = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

const AFTER_LEASE = `now() + interval '${LEASE_MS} milliseconds'`;
const AFTER_ESCROW_LEASE = `now() + interval '${ESCROW_LEASE_MS} milliseconds'`;

/** Condition for nodes that were heard of lately, so that they answer. */
export const ANSWERS = `escrow_until > ${AFTER_ESCROW_LEASE} - interval '${LEASE_MS} milliseconds'`;

interface NodeOptions {
  readonly database: Database;
  readonly node: Pick<NodeRecord, 'name' | 'version'>;
  /** Called when the lease of claims was lost; `id` is already the new one. */
  readonly onLost: () => void;
  /** Called when the lease of escrows was lost; `escrowId` is already the new one. */
  readonly onEscrowLost: () => void;
  /** Called before the node uses new identifiers. */
  readonly onIds: (ids: readonly string[]) => void;
  /** Called after each heartbeat. */
  readonly onHeartbeat: () => Promise<void>;
  /** Called with the milliseconds by which the clock of this machine is ahead, where they are many. */
  readonly onClockSkew: (milliseconds: number) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * The row of this process among the living nodes. A node extends its leases by the clock of the database, and
 * knows by a monotonic clock how long they hold at least. Once a lease has ended it never comes back to life: the
 * node takes a new identifier. The lease of escrows is longer than that of claims: where the latter alone has
 * ended, escrows keep the identifier under which they were drawn.
 */
export class NodeLease implements Nodes {
  readonly #options: NodeOptions;
  readonly #startedAt = Date.now();
  readonly #listeners = new Set<() => void>();
  #id = newId('node');
  /** Identifier of the escrows: `#id`, or an earlier one. */
  #escrowId = this.#id;
  /** Identifiers of living nodes, by their age. */
  #living: readonly string[] = [];
  /** Monotonic times before which the leases cannot have ended. */
  #validUntil = 0;
  #escrowValidUntil = 0;
  #isRegistered = false;
  /** The database's clock at the zero of the monotonic clock, in milliseconds since the epoch. */
  #origin = Date.now() - performance.now();
  /** Monotonic time at which the extension under way began; null between two. */
  #beatingSince: number | null = null;
  #failure: Failure | null = null;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: NodeOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#id;
  }

  get escrowId(): string {
    return this.#escrowId;
  }

  /**
   * Milliseconds since the epoch by the database's clock, and by this machine's before `open`. It follows the
   * monotonic clock between two heartbeats, so that setting this machine's clock does not move it.
   */
  get now(): number {
    return Math.round(this.#origin + performance.now());
  }

  /** Whether the lease of escrows holds for sure. */
  get isEscrowValid(): boolean {
    return performance.now() < this.#escrowValidUntil;
  }

  /** Whether the lease of claims holds for sure. */
  get isValid(): boolean {
    return this.#isRegistered && performance.now() < this.#validUntil;
  }

  /** Why the leases cannot be extended now; null while they can. */
  get failure(): Failure | null {
    const since = this.#beatingSince;
    const isSilent = since !== null && performance.now() - since > SILENT_MS;
    return this.#failure ?? (isSilent ? unavailable(new Error('no answer')) : null);
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
    const { database, onClockSkew } = this.#options;
    this.#options.onIds([this.#id]);
    await database.retry(() => this.#extend());
    this.#schedule();
    const skew = Date.now() - this.now;
    if (Math.abs(skew) > MAX_SKEW_MS) onClockSkew(skew);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#beating;
    await this.#options.database
      .query('DELETE FROM $schema.nodes WHERE id = ANY($1::text[])', [this.#ids()])
      .catch(this.#options.onFault);
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
      if (this.#escrowId !== this.#id && !this.isEscrowValid) this.#loseEscrow();
      this.#beatingSince = performance.now();
      await this.#extend();
      this.#beatingSince = null;
      this.#failure = null;
      await this.#options.onHeartbeat();
    } catch (error) {
      if (isAway(error)) this.#failure = unavailable(error);
      this.#options.onFault(error);
    } finally {
      this.#beatingSince = null;
    }
  }

  /** Extends the leases. A lease that has ended is replaced by one of a new identifier. */
  async #extend(): Promise<void> {
    const sentAt = performance.now();
    const extended = await this.#options.database.once(async (connection) => {
      if (!this.#isRegistered) await this.#insert(connection);
      const askedAt = performance.now();
      const rows = await connection.query<{ id: string; alive: boolean; clock: number }>(
        `UPDATE $schema.nodes SET escrow_until = ${AFTER_ESCROW_LEASE},
           alive_until = CASE WHEN id = $1 AND alive_until > now() THEN ${AFTER_LEASE} ELSE alive_until END
         WHERE id = ANY($2::text[]) AND escrow_until > now() RETURNING id, alive_until > now() AS alive, ${CLOCK} AS clock`,
        [this.#id, this.#ids()],
      );
      if (rows[0]) this.#setClock(rows[0].clock, askedAt);
      await this.#readLiving(connection);
      return rows;
    });
    const isAlive = extended.some(({ id, alive }) => id === this.#id && alive);
    if (isAlive) this.#validUntil = sentAt + LEASE_MS;
    else this.#lose();
    if (extended.some(({ id }) => id === this.#escrowId)) {
      this.#escrowValidUntil = sentAt + ESCROW_LEASE_MS;
    } else this.#loseEscrow();
    this.#isRegistered = isAlive;
    if (!isAlive) await this.#extend();
  }

  /** Corrects the clock if it was outside of the time between a query and its answer. */
  #setClock(clock: number, askedAt: number): void {
    const answeredAt = performance.now();
    const isWithin = clock - answeredAt <= this.#origin && this.#origin <= clock - askedAt;
    if (!isWithin) this.#origin = clock - (askedAt + answeredAt) / 2;
  }

  /** Does nothing where an earlier attempt was committed. */
  async #insert(connection: Connection): Promise<void> {
    const { name, version } = this.#options.node;
    await connection.query(
      `INSERT INTO $schema.nodes (id, name, version, started_at, alive_until, escrow_until)
       VALUES ($1, $2, $3, $4, ${AFTER_LEASE}, ${AFTER_ESCROW_LEASE}) ON CONFLICT (id) DO NOTHING`,
      [this.#id, name, version, this.#startedAt],
    );
  }

  #ids(): readonly string[] {
    return [...new Set([this.#id, this.#escrowId])];
  }

  #lose(): void {
    this.#id = newId('node');
    this.#isRegistered = false;
    this.#options.onIds(this.#ids());
    this.#options.onLost();
  }

  #loseEscrow(): void {
    this.#escrowId = this.#id;
    this.#escrowValidUntil = 0;
    this.#options.onIds(this.#ids());
    this.#options.onEscrowLost();
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
    await connection.query(`DELETE FROM $schema.nodes WHERE escrow_until < now() - ${KEPT}`);
    await connection.query(`DELETE FROM $schema.writers WHERE at < now() - ${KEPT}`);
  }

  async list(): Promise<readonly NodeRecord[]> {
    const rows = await this.#options.database.query<NodeRecord>(
      `SELECT n.id, n.name, n.version, n.started_at AS "startedAt",
         floor(extract(epoch FROM n.alive_until - now()) * 1000)::bigint AS "aliveUntil",
         (SELECT count(*) FROM $schema.tasks AS t WHERE t.status = 'processing' AND t.node = n.id) AS claims
       FROM $schema.nodes AS n ORDER BY n.started_at, n.id`,
    );
    // By this node's idea of the database's clock, as all times that leave the driver.
    const { now } = this;
    return rows.map((row) => ({ ...row, aliveUntil: now + row.aliveUntil }));
  }
}
