import { Failure } from '../../../../failure.ts';
import type { Commit } from '../../../options.ts';
import { storeUnavailable } from '../files/errors.ts';
import {
  type Change,
  COLLECTIONS,
  type Collection,
  type ShardKey,
  type State,
  shardName,
  shardNumber,
} from '../state/state.ts';
import { Batch } from './batch.ts';
import type { Journal } from './journal.ts';

/** Milliseconds between two attempts to start a new journal after a failed write. */
const RETRY_INTERVAL_MS = 1000;

/** Minimum transactions of a batch that is written before the end of the event loop's turn. */
const MIN_EARLY_TRANSACTIONS = 8;

interface CommitOptions {
  /** Called between two batches; returns the journal to use next. Rejects if no journal accepts writes. */
  readonly afterBatch: (journal: Journal) => Promise<Journal>;
  /** Starts the journal after a failed one. `first` is a batch to write with its header. */
  readonly replaceJournal: (failed: Journal, first: string | null) => Promise<Journal>;
  /** Called when writes start to fail, and with null when they succeed again. */
  readonly onFailure: (failure: Failure | null) => void;
  readonly onCommit: ((commit: Commit) => void) | undefined;
}

/** A unique number for a row of any collection, cheaper to build than a string. */
function rowKey(collection: Collection, order: number): number {
  return order * COLLECTIONS.length + COLLECTIONS.indexOf(collection);
}

/** @throws Failure invalid_request if a value cannot be serialised as JSON, or is nested too deeply */
function toJson(change: Change): string {
  try {
    return JSON.stringify(change);
  } catch (error) {
    throw new Failure('invalid_request', 'the task cannot be serialised as JSON', { cause: error });
  }
}

/**
 * Group commit: applies changes to the state at once and writes them in batches. Changes that are made
 * during a write form the next batch. If a batch cannot be written, it and the batch after it are
 * reverted, and the journal is not used again: the rejected batch may be in its file, and the next start
 * must not replay it. As soon as the disk accepts one, a new journal is started, whose header states how
 * much of the previous one is valid.
 */
export class CommitQueue {
  readonly #state: State;
  readonly #options: CommitOptions;
  #journal: Journal;
  #writing: Batch | null = null;
  #pending = new Batch();
  /** Transactions at which a batch is written before the end of the turn. */
  #earlyWriteSize = Infinity;
  #isScheduled = false;
  #isBusy = false;
  #running: Promise<void> | null = null;
  /** Failure of the last write. Until another write succeeds, nothing is appended to the journal. */
  #failure: Failure | null = null;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** Called after each batch, before the next is written. It may call `writeUnsynced`. */
  onBatchEnd: () => void = () => {};
  #changed = new Map<string, ShardKey>();

  constructor(state: State, journal: Journal, options: CommitOptions) {
    this.#state = state;
    this.#journal = journal;
    this.#options = options;
  }

  /** Failure of the last write; null if it succeeded. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** Whether a batch is being written. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Bytes of the current journal. */
  get journalLength(): number {
    return this.#journal.length;
  }

  /** Applies changes, all or none. Resolves when they are on disk. */
  commit(changes: readonly Change[]): Promise<void> {
    // Tasks contain JSON of clients: values that cannot be serialised are found before anything is changed.
    const texts = changes.map((change) => (change[0] === 'tasks' ? toJson(change) : null));
    const batch = this.#pending;
    for (let at = 0; at < changes.length; at += 1) {
      const change = changes[at]!;
      const json = texts[at]!;
      const before = this.#state.apply(change);
      const key = rowKey(change[0], change[1]);
      const row = batch.rows.get(key);
      if (row) {
        row.change = change;
        row.json = json;
      } else {
        batch.rows.set(key, { before, change, json });
      }
    }
    batch.transactions += 1;
    if (!this.#isBusy && batch.transactions >= this.#earlyWriteSize) this.#write();
    else this.#schedule();
    return batch.durable;
  }

  /**
   * Applies changes that survive a crash of the process when this returns, and a power cut after the next
   * commit. May be called only while no batch is being written, for rows that are in no batch.
   *
   * @param replaced changes of rows that the pending batch changes again: a crash before that batch leaves these
   * @throws Failure service_error, 503 `store_unavailable`; nothing was changed
   */
  writeUnsynced(changes: readonly Change[], replaced: readonly Change[] = []): void {
    if (this.#failure) throw this.#failure;
    try {
      this.#journal.appendUnsynced(JSON.stringify([...replaced, ...changes]));
    } catch (error) {
      const failure = this.#fail(error);
      this.#isBusy = true;
      this.#running = this.#truncateJournal().then(() => this.#startNext());
      throw failure;
    }
    for (const change of changes) {
      this.#state.apply(change);
      this.markChanged(change[0], change[1]);
    }
  }

  /** Runs what follows a batch, such as a checkpoint, without a batch. */
  runAfterBatch(): void {
    this.#write(true);
  }

  /** Resolves when all changes so far are on disk; null if they are. Rejects if they were reverted. */
  synced(): Promise<void> | null {
    if (this.#pending.transactions === 0) return this.#writing?.durable ?? null;
    this.#schedule();
    return this.#pending.durable;
  }

  /** Like `synced`, for one row. */
  rowSynced(collection: Collection, order: number): Promise<void> | null {
    const key = rowKey(collection, order);
    if (this.#pending.rows.has(key)) {
      this.#schedule();
      return this.#pending.durable;
    }
    return this.#writing?.rows.has(key) ? this.#writing.durable : null;
  }

  /** A row as it is on disk, without changes that are being written. */
  durable<Row>(collection: Collection, order: number): Row | null {
    const key = rowKey(collection, order);
    const changed = this.#writing?.rows.get(key) ?? this.#pending.rows.get(key);
    if (changed) return changed.before[2] as Row | null;
    return ((this.#state[collection].rows.get(order) as unknown) ?? null) as Row | null;
  }

  /** Returns the shards that synced batches have changed since the last call. */
  takeChanged(): Map<string, ShardKey> {
    const changed = this.#changed;
    this.#changed = new Map();
    return changed;
  }

  markChanged(collection: Collection, order: number): void {
    const shard = { collection, number: shardNumber(order) };
    this.#changed.set(shardName(shard), shard);
  }

  /** Returns shards to the set of changed ones after a checkpoint failed. */
  returnChanged(changed: ReadonlyMap<string, ShardKey>): void {
    for (const [name, key] of changed) this.#changed.set(name, key);
  }

  /** Writes the rest, and closes the journal. */
  async close(): Promise<void> {
    await this.synced()?.catch(() => {});
    await this.#running;
    this.#isClosed = true;
    if (this.#retry) clearTimeout(this.#retry);
    await this.#journal.close();
  }

  /** Writes the pending batch at the end of this turn of the event loop, with all changes until then. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#write();
    });
  }

  /** Starts to write the pending batch, unless one is being written. @param empty also if there are no changes */
  #write(empty = false): void {
    if (this.#isBusy || this.#isClosed) return;
    if (this.#pending.transactions === 0 && !empty) return;
    this.#isBusy = true;
    this.#writing = this.#pending;
    this.#pending = new Batch();
    // Callers that waited for one batch continue at the same time. With half of their changes as the next
    // batch, one half is prepared while the other is written.
    this.#earlyWriteSize = Math.max(MIN_EARLY_TRANSACTIONS, this.#writing.transactions / 2);
    this.#running = this.#commit(this.#writing);
  }

  /** Continues after a batch, whether it was written or not. */
  #startNext(): void {
    this.#isBusy = false;
    this.onBatchEnd();
    this.#write();
  }

  async #commit(batch: Batch): Promise<void> {
    const started = performance.now();
    const { transactions } = batch;
    let bytes = 0;
    try {
      if (this.#failure) await this.#replaceJournal();
      if (transactions > 0) bytes = await this.#journal.append(batch.json);
    } catch (error) {
      await this.#revert(error);
      this.#startNext();
      return;
    }
    const milliseconds = performance.now() - started;
    this.#writing = null;
    for (const { change } of batch.rows.values()) this.markChanged(change[0], change[1]);
    try {
      this.#journal = await this.#options.afterBatch(this.#journal);
    } catch (error) {
      this.#fail(error);
    }
    // The next batch is given to the disk before the callers of this one continue.
    this.#startNext();
    batch.resolve();
    if (transactions > 0) this.#options.onCommit?.({ milliseconds, transactions, bytes });
  }

  /** Reverts the failed batch and the pending one, which depends on it. */
  async #revert(error: unknown): Promise<void> {
    const failure = this.#fail(error);
    const failed = [this.#pending, this.#writing!];
    this.#pending = new Batch();
    this.#writing = null;
    for (const { rows } of failed) {
      for (const { before } of rows.values()) this.#state.apply(before);
    }
    await this.#truncateJournal();
    for (const batch of failed) batch.reject(failure);
  }

  #fail(error: unknown): Failure {
    const failure = storeUnavailable(error);
    if (!this.#failure) this.#options.onFailure(failure);
    this.#failure = failure;
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      this.#write(true);
    }, RETRY_INTERVAL_MS).unref();
    return failure;
  }

  /** Removes a rejected batch from the file, in case the process ends before a new journal is started. */
  async #truncateJournal(): Promise<void> {
    await this.#journal.truncateFailedWrite().catch(() => {});
  }

  /**
   * Starts a new journal. After a failed sync, it is not known what of the old one is on disk beyond its
   * last sync, so the new one begins with the charges that were written since.
   */
  async #replaceJournal(): Promise<void> {
    const charges = new Map<number, unknown>(this.#state.charges.rows);
    // Rows that an unwritten batch removes are still valid.
    for (const batch of [this.#pending, this.#writing!]) {
      for (const { before } of batch.rows.values()) {
        if (before[0] === 'charges' && before[2] !== null) charges.set(before[1], before[2]);
      }
    }
    const changes = [...charges].map(([order, row]) => ['charges', order, row]);
    const first = changes.length > 0 ? JSON.stringify(changes) : null;
    this.#journal = await this.#options.replaceJournal(this.#journal, first);
    this.#failure = null;
    this.#options.onFailure(null);
  }
}
