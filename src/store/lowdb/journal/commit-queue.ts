import { Failure } from '../../../failure.ts';
import type { Commit } from '../../options.ts';
import { storeUnavailable } from '../errors.ts';
import { type ShardKey, shardName, shardNumber } from '../state/shard.ts';
import { type Change, COLLECTIONS, type Collection, type State } from '../state/state.ts';
import type { Journal } from './journal.ts';

/** Milliseconds between two attempts to begin a fresh journal after a failed write. */
const RETRY_INTERVAL_MS = 1000;

/** Transactions that are worth a write of their own while more are coming. */
const MIN_EARLY_TRANSACTIONS = 8;

/** What a batch does to one row. */
interface RowChange {
  /** What would undo it. */
  readonly before: Change;
  /** The last of several: a row that changes often is written once. */
  change: Change;
  json: string | null;
}

/** Transactions that reach the disk together. */
class Batch {
  readonly rows = new Map<number, RowChange>();
  readonly durable: Promise<void>;
  resolve!: () => void;
  reject!: (failure: Failure) => void;
  transactions = 0;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Whoever waits for it is told; often nobody does.
    this.durable.catch(() => {});
  }

  get json(): string {
    const parts: string[] = [];
    for (const { change, json } of this.rows.values()) parts.push(json ?? JSON.stringify(change));
    return `[${parts.join(',')}]`;
  }
}

interface CommitOptions {
  /** Called between two batches: a chance to go on with another journal. Rejects where neither takes more. */
  readonly afterBatch: (journal: Journal) => Promise<Journal>;
  /** Begins the journal after one that failed, with a batch in it, if any, from the first moment. */
  readonly replaceJournal: (failed: Journal, first: string | null) => Promise<Journal>;
  /** Called when writes begin to fail, and with null when they succeed again. */
  readonly onFailure: (failure: Failure | null) => void;
  readonly onCommit: ((commit: Commit) => void) | undefined;
}

/** One number for a row of any collection: a text would take longer to make than to look up. */
function rowKey(collection: Collection, order: number): number {
  return order * COLLECTIONS.length + COLLECTIONS.indexOf(collection);
}

/** @throws Failure invalid_request where a value in it is none that JSON has, or lies too deep */
function toJson(change: Change): string {
  try {
    return JSON.stringify(change);
  } catch (error) {
    throw new Failure('invalid_request', 'the task cannot be written as JSON', { cause: error });
  }
}

/**
 * Makes changes in memory at once and on disk in batches: while one is being written, all that
 * follows gathers in the next. A batch that cannot be written is undone with all behind it, and its
 * journal takes no more: a refused batch may have reached the file, and the next start must not
 * replay it. A fresh journal, whose header states how much of the former counts, is begun as soon as
 * the disk takes it.
 */
export class CommitQueue {
  readonly #state: State;
  readonly #options: CommitOptions;
  #journal: Journal;
  #writing: Batch | null = null;
  #pending = new Batch();
  /** Transactions at which the disk is not kept waiting for the rest of this turn's. */
  #earlyWriteSize = Infinity;
  #isScheduled = false;
  #isBusy = false;
  #underWay: Promise<void> | null = null;
  /** Why the last write failed; until another succeeds, nothing is appended to the journal. */
  #failure: Failure | null = null;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** Called after each batch, before the next is written: `note` may be called here. */
  onBatchEnd: () => void = () => {};
  #changed = new Map<string, ShardKey>();

  constructor(state: State, journal: Journal, options: CommitOptions) {
    this.#state = state;
    this.#journal = journal;
    this.#options = options;
  }

  /** Why the last write failed; null if it succeeded. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** Whether a batch is being written. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Bytes of the present journal. */
  get journalLength(): number {
    return this.#journal.length;
  }

  /** Makes changes, all or none. Resolves when they are on disk. */
  commit(changes: readonly Change[]): Promise<void> {
    // A task bears JSON from outside: what cannot be written is found before anything is changed.
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
   * Makes changes that outlast a crash of the process when this returns, and a power cut with the
   * next commit. Only to be called while no batch is being written, about rows in no batch.
   *
   * @throws Failure service_error, 503 `store_unavailable`; nothing was changed
   */
  writeUnsynced(changes: readonly Change[]): void {
    if (this.#failure) throw this.#failure;
    try {
      this.#journal.appendUnsynced(JSON.stringify(changes));
    } catch (error) {
      const failure = this.#fail(error);
      this.#isBusy = true;
      this.#underWay = this.#truncateJournal().then(() => this.#startNext());
      throw failure;
    }
    for (const change of changes) {
      this.#state.apply(change);
      this.markChanged(change[0], change[1]);
    }
  }

  /** Runs what runs between two batches, such as a checkpoint, without waiting for a batch. */
  runAfterBatch(): void {
    this.#write(true);
  }

  /** Resolves when all that was changed so far is on disk; at once where it is. Rejects with its undoing. */
  synced(): Promise<void> | null {
    if (this.#pending.transactions === 0) return this.#writing?.durable ?? null;
    this.#schedule();
    return this.#pending.durable;
  }

  /** The same for one row. */
  rowSynced(collection: Collection, order: number): Promise<void> | null {
    const key = rowKey(collection, order);
    if (this.#pending.rows.has(key)) {
      this.#schedule();
      return this.#pending.durable;
    }
    return this.#writing?.rows.has(key) ? this.#writing.durable : null;
  }

  /** A row as it is on disk, whatever is under way. */
  durable<Row>(collection: Collection, order: number): Row | null {
    const key = rowKey(collection, order);
    const changed = this.#writing?.rows.get(key) ?? this.#pending.rows.get(key);
    if (changed) return changed.before[2] as Row | null;
    return ((this.#state[collection].rows.get(order) as unknown) ?? null) as Row | null;
  }

  /** The shards that batches on disk have changed since this was asked last. */
  takeChanged(): Map<string, ShardKey> {
    const changed = this.#changed;
    this.#changed = new Map();
    return changed;
  }

  markChanged(collection: Collection, order: number): void {
    const shard = { collection, number: shardNumber(order) };
    this.#changed.set(shardName(shard), shard);
  }

  /** Gives back what `takeChanged` took, where it could not be used. */
  returnChanged(changed: ReadonlyMap<string, ShardKey>): void {
    for (const [name, key] of changed) this.#changed.set(name, key);
  }

  /** Writes down the rest, and closes the journal. */
  async close(): Promise<void> {
    await this.synced()?.catch(() => {});
    await this.#underWay;
    this.#isClosed = true;
    if (this.#retry) clearTimeout(this.#retry);
    await this.#journal.close();
  }

  /** Has what gathers written by the end of this turn, so that all it still brings goes along. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#write();
    });
  }

  /** Gives the disk what has gathered, unless it is at work. @param empty even where that is nothing */
  #write(empty = false): void {
    if (this.#isBusy || this.#isClosed) return;
    if (this.#pending.transactions === 0 && !empty) return;
    this.#isBusy = true;
    this.#writing = this.#pending;
    this.#pending = new Batch();
    // Those who wait for one batch come back together. In two halves, one is being made while the
    // other is being written.
    this.#earlyWriteSize = Math.max(MIN_EARLY_TRANSACTIONS, this.#writing.transactions / 2);
    this.#underWay = this.#commit(this.#writing);
  }

  /** After a batch, written or not. */
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
      await this.#undo(error);
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
    // The disk goes on with the next before those of this batch go on with their work.
    this.#startNext();
    batch.resolve();
    if (transactions > 0) this.#options.onCommit?.({ milliseconds, transactions, bytes });
  }

  /** Takes back the batch that failed and the one behind it, which was computed upon it. */
  async #undo(error: unknown): Promise<void> {
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

  /** Removes a refused batch from the file, in case the process ends before a fresh journal is begun. */
  async #truncateJournal(): Promise<void> {
    await this.#journal.truncateFailedWrite().catch(() => {});
  }

  /**
   * Begins a fresh journal. After a failed sync it is not known what of the old one is on disk beyond
   * the sync before, so that the fresh one begins with the charges noted since.
   */
  async #replaceJournal(): Promise<void> {
    const charges = new Map<number, unknown>(this.#state.charges.rows);
    // Rows that an unwritten batch removes still count.
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
