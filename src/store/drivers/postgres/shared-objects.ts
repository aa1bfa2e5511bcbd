import { setTimeout as delay } from 'node:timers/promises';
import { MAX_OBJECT_ID, ProviderObjects } from '../../provider-objects.ts';
import type { Database } from './database/database.ts';
import { decodeText, encodeText } from './database/text.ts';
import type { FairReads } from './readers/fair-reads.ts';

/** Milliseconds in which identifiers are gathered for one statement. */
const GATHER_MS = 50;

/** Milliseconds after which an identifier that another node has given to a client is in the database. */
const SHARED_MS = 250;

/** Milliseconds for which identifiers are kept, and between deletions of old ones. */
const KEPT_MS = 7 * 86_400_000;
const DELETE_INTERVAL_MS = 3_600_000;

/** Identifiers that wait for the database, and those of one query: a request may name any number. */
const MAX_WAITING = 10_000;
const MAX_FOUND = 1000;

const MAX_DELETED = 10_000;

interface SharedObjectsOptions {
  readonly database: Database;
  readonly reads: FairReads;
  readonly now: () => number;
  readonly onFault: (error: unknown) => void;
}

/** Identifiers of objects at providers, of all nodes. This node's own are in memory, so that most need no query. */
export class SharedObjects {
  readonly #options: SharedObjectsOptions;
  readonly #own = new ProviderObjects();
  #waiting: { readonly accountId: string; readonly id: string }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #deletedAt = -Infinity;

  constructor(options: SharedObjectsOptions) {
    this.#options = options;
  }

  add(accountId: string, ids: readonly string[]): void {
    this.#own.add(accountId, ids);
    for (const id of ids) {
      if (id.length > MAX_OBJECT_ID || this.#waiting.length === MAX_WAITING) continue;
      this.#waiting.push({ accountId, id });
    }
    this.#timer ??= setTimeout(() => this.#writeSoon(), GATHER_MS);
  }

  /** @throws Failure `store_unavailable` */
  async find(accountId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const own = this.#own.find(accountId, ids);
    const others = ids.filter((id) => !own.has(id) && id.length <= MAX_OBJECT_ID);
    if (others.length === 0) return own;
    const wanted = others.slice(0, MAX_FOUND);
    let found = await this.#read(accountId, wanted);
    if (found.length < wanted.length) {
      await delay(SHARED_MS);
      found = await this.#read(accountId, wanted);
    }
    return new Set([...own, ...found]);
  }

  async #read(accountId: string, ids: readonly string[]): Promise<string[]> {
    const rows = await this.#options.reads.query<{ readonly id: string }>(
      accountId,
      'SELECT id FROM $schema.provider_objects WHERE account_id = $1 AND id = ANY($2::text[])',
      [encodeText(accountId), ids.map(encodeText)],
    );
    return rows.map(({ id }) => decodeText(id));
  }

  #writeSoon(): void {
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write()).catch(this.#options.onFault);
  }

  async #write(): Promise<void> {
    const { database, now } = this.#options;
    const rows = this.#waiting;
    this.#waiting = [];
    if (rows.length === 0) return;
    await database.query(
      `INSERT INTO $schema.provider_objects (account_id, id, at)
       SELECT account_id, id, $3::bigint FROM unnest($1::text[], $2::text[]) AS given (account_id, id)
       ON CONFLICT DO NOTHING`,
      [rows.map((row) => encodeText(row.accountId)), rows.map((row) => encodeText(row.id)), now()],
    );
  }

  /** Deletes what is old, now and then. */
  async deleteOld(): Promise<void> {
    const { database, now } = this.#options;
    if (now() - this.#deletedAt < DELETE_INTERVAL_MS) return;
    const deleted = await database.query(
      `DELETE FROM $schema.provider_objects WHERE ctid IN (
         SELECT ctid FROM $schema.provider_objects WHERE at < $1 ORDER BY at LIMIT ${MAX_DELETED}
       ) RETURNING 1`,
      [now() - KEPT_MS],
    );
    if (deleted.length < MAX_DELETED) this.#deletedAt = now();
  }

  /** Writes what waits for the database. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#writeSoon();
    await this.#writing;
  }
}
