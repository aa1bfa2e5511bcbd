import { Failure } from '../../failure.ts';
import { nameOf, type ShardKey, shardOf } from './checkpoint.ts';
import { unavailable } from './faults.ts';
import type { Journal } from './journal.ts';
import { encodeLine } from './journal-line.ts';
import { type Change, COLLECTIONS, type Collection, type State } from './state.ts';

/** How long what nobody waits for may stay in memory, in milliseconds. */
const PATIENCE = 5;

/** Transactions that are worth a write of their own while more are coming. */
const LEAST = 8;

/** What one write to the journal took. */
export interface Commit {
  readonly milliseconds: number;
  readonly transactions: number;
  readonly bytes: number;
}

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
  /** Called between two batches: a chance to go on with another journal. */
  readonly between: (journal: Journal) => Promise<Journal>;
  readonly onCommit: ((commit: Commit) => void) | undefined;
}

/** One number for a row of any collection: a text would take longer to make than to look up. */
function rowKey(collection: Collection, order: number): number {
  return order * COLLECTIONS.length + COLLECTIONS.indexOf(collection);
}

/** @throws Failure invalid_request where a value in it is none that JSON has, or lies too deep */
function asJson(change: Change): string {
  try {
    return JSON.stringify(change);
  } catch (error) {
    throw new Failure('invalid_request', 'the task cannot be written as JSON', { cause: error });
  }
}

/**
 * Makes changes in memory at once and on disk in batches: while one is being written, all that
 * follows gathers in the next. Where a batch cannot be written, it is undone with all behind it.
 */
export class Commits {
  readonly #state: State;
  readonly #options: CommitOptions;
  #journal: Journal;
  #writing: Batch | null = null;
  #gathering = new Batch();
  /** Transactions at which the disk is not kept waiting for the rest of this turn's. */
  #enough = Infinity;
  #isScheduled = false;
  #isBusy = false;
  #underWay: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Set where the journal could not be cut back: nothing may be appended to it any more. */
  #broken: Failure | null = null;
  #changed = new Map<string, ShardKey>();

  constructor(state: State, journal: Journal, options: CommitOptions) {
    this.#state = state;
    this.#journal = journal;
    this.#options = options;
  }

  /**
   * Makes changes, all or none. Resolves when they are on disk.
   *
   * @param lazy nobody waits for it, so that it may wait a little for company
   * @throws Failure service_error, 503 `store_unavailable`, once nothing can be written any more
   */
  commit(changes: readonly Change[], lazy = false): Promise<void> {
    this.check();
    // A task bears JSON from outside: what cannot be written is found before anything is changed.
    const texts = changes.map((change) => (change[0] === 'tasks' ? asJson(change) : null));
    const batch = this.#gathering;
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
    if (!this.#isBusy && batch.transactions >= this.#enough) this.#write();
    else if (lazy) this.#timer ??= setTimeout(() => this.#write(), PATIENCE);
    else this.#schedule();
    return batch.durable;
  }

  /** @throws Failure service_error, 503 `store_unavailable`, once nothing can be written any more */
  check(): void {
    if (this.#broken) throw this.#broken;
  }

  /** Resolves when all that was changed so far is on disk; at once where it is. Rejects with its undoing. */
  flushed(): Promise<void> | null {
    if (this.#gathering.transactions === 0) return this.#writing?.durable ?? null;
    this.#schedule();
    return this.#gathering.durable;
  }

  /** The same for one row. */
  settled(collection: Collection, order: number): Promise<void> | null {
    const key = rowKey(collection, order);
    if (this.#gathering.rows.has(key)) {
      this.#schedule();
      return this.#gathering.durable;
    }
    return this.#writing?.rows.has(key) ? this.#writing.durable : null;
  }

  /** A row as it is on disk, whatever is under way. */
  durable<Row>(collection: Collection, order: number): Row | null {
    const key = rowKey(collection, order);
    const changed = this.#writing?.rows.get(key) ?? this.#gathering.rows.get(key);
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
    const number = shardOf(order);
    this.#changed.set(nameOf(collection, number), { collection, number });
  }

  /** Gives back what `takeChanged` took, where it could not be used. */
  returnChanged(changed: ReadonlyMap<string, ShardKey>): void {
    for (const [name, key] of changed) this.#changed.set(name, key);
  }

  /** Writes down the rest, and closes the journal. */
  async close(): Promise<void> {
    await this.flushed()?.catch(() => {});
    await this.#underWay;
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

  /** Gives the disk what has gathered, unless it is at work. */
  #write(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isBusy || this.#gathering.transactions === 0) return;
    this.#isBusy = true;
    this.#writing = this.#gathering;
    this.#gathering = new Batch();
    // Those who wait for one batch come back together. In two halves, one is being made while the
    // other is being written.
    this.#enough = Math.max(LEAST, this.#writing.transactions / 2);
    this.#underWay = this.#commit(this.#writing);
  }

  async #commit(batch: Batch): Promise<void> {
    const started = performance.now();
    let bytes: Buffer;
    try {
      if (this.#broken) throw this.#broken;
      bytes = encodeLine(batch.json);
      await this.#journal.append(bytes);
    } catch (error) {
      await this.#undo(error);
      this.#isBusy = false;
      this.#write();
      return;
    }
    const milliseconds = performance.now() - started;
    this.#writing = null;
    for (const { change } of batch.rows.values()) this.markChanged(change[0], change[1]);
    this.#journal = await this.#options.between(this.#journal);
    this.#isBusy = false;
    // The disk goes on with the next before those of this batch go on with their work.
    this.#write();
    batch.resolve();
    const { transactions } = batch;
    this.#options.onCommit?.({ milliseconds, transactions, bytes: bytes.length });
  }

  /** Takes back the batch that failed and the one behind it, which was computed upon it. */
  async #undo(error: unknown): Promise<void> {
    const failure = unavailable(error);
    const failed = [this.#gathering, this.#writing!];
    this.#gathering = new Batch();
    this.#writing = null;
    for (const { rows } of failed) {
      for (const { before } of rows.values()) this.#state.apply(before);
    }
    try {
      await this.#journal.cut();
    } catch {
      this.#broken = failure;
    }
    for (const batch of failed) batch.reject(failure);
  }
}
