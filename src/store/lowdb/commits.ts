import { Failure } from '../../failure.ts';
import { nameOf, type ShardKey, shardOf } from './checkpoint.ts';
import { unavailable } from './faults.ts';
import type { Journal } from './journal.ts';
import { encodeLine } from './journal-line.ts';
import type { Change, Collection, State } from './state.ts';

/** How long what nobody waits for may stay in memory, in milliseconds. */
const PATIENCE = 5;

/** What one write to the journal took. */
export interface Commit {
  readonly milliseconds: number;
  readonly transactions: number;
  readonly bytes: number;
}

/** Transactions that reach the disk together. */
class Batch {
  /** The last change of each row; a row that changed often is written once. */
  readonly changes = new Map<string, { readonly change: Change; readonly json: string | null }>();
  /** What each row was before the batch. */
  readonly before = new Map<string, Change>();
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
    const changes = [...this.changes.values()];
    return `[${changes.map(({ change, json }) => json ?? JSON.stringify(change)).join(',')}]`;
  }
}

interface CommitOptions {
  /** Called between two batches: a chance to go on with another journal. */
  readonly between: (journal: Journal) => Promise<Journal>;
  readonly onCommit: ((commit: Commit) => void) | undefined;
}

function rowKey(collection: Collection, order: number): string {
  return `${collection} ${order}`;
}

/** @throws Failure invalid_request where a value in it is none that JSON has, or lies too deep */
function asJson(change: Change): string {
  try {
    return JSON.stringify(change);
  } catch (error) {
    throw new Failure('invalid_request', 'the task cannot be written as JSON', { cause: error });
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
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
  #running = false;
  #loop: Promise<void> | null = null;
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
    if (this.#broken) throw this.#broken;
    // A task bears JSON from outside: what cannot be written is found before anything is changed.
    const texts = changes.map((change) => (change[0] === 'tasks' ? asJson(change) : null));
    const batch = this.#gathering;
    for (const [at, change] of changes.entries()) {
      const key = rowKey(change[0], change[1]);
      const before = this.#state.apply(change);
      if (!batch.before.has(key)) batch.before.set(key, before);
      batch.changes.set(key, { change, json: texts[at]! });
    }
    batch.transactions += 1;
    if (lazy) this.#timer ??= setTimeout(() => this.#start(), PATIENCE);
    else this.#start();
    return batch.durable;
  }

  /** Resolves when all that was changed so far is on disk; at once where it is. Rejects with its undoing. */
  flushed(): Promise<void> | null {
    if (this.#gathering.transactions === 0) return this.#writing?.durable ?? null;
    this.#start();
    return this.#gathering.durable;
  }

  /** The same for one row. */
  settled(collection: Collection, order: number): Promise<void> | null {
    const key = rowKey(collection, order);
    if (this.#gathering.changes.has(key)) {
      this.#start();
      return this.#gathering.durable;
    }
    return this.#writing?.changes.has(key) ? this.#writing.durable : null;
  }

  /** A row as it is on disk, whatever is under way. */
  durable<Row>(collection: Collection, order: number): Row | null {
    const key = rowKey(collection, order);
    const before = this.#writing?.before.get(key) ?? this.#gathering.before.get(key);
    if (before) return before[2] as Row | null;
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
    await this.#loop;
    await this.#journal.close();
  }

  #start(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#running) return;
    this.#running = true;
    this.#loop = this.#run();
  }

  async #run(): Promise<void> {
    // All that the present callbacks still bring goes into the first batch.
    await nextTick();
    while (this.#gathering.transactions > 0) {
      const batch = this.#gathering;
      this.#writing = batch;
      this.#gathering = new Batch();
      const started = performance.now();
      let bytes: Buffer;
      try {
        if (this.#broken) throw this.#broken;
        bytes = encodeLine(batch.json);
        await this.#journal.append(bytes);
      } catch (error) {
        await this.#undo(error);
        continue;
      }
      this.#writing = null;
      for (const { change } of batch.changes.values()) this.markChanged(change[0], change[1]);
      batch.resolve();
      this.#options.onCommit?.({
        milliseconds: performance.now() - started,
        transactions: batch.transactions,
        bytes: bytes.length,
      });
      this.#journal = await this.#options.between(this.#journal);
      await nextTick();
    }
    this.#running = false;
  }

  /** Takes back the batch that failed and the one behind it, which was computed upon it. */
  async #undo(error: unknown): Promise<void> {
    const failure = unavailable(error);
    const failed = [this.#gathering, this.#writing!];
    this.#gathering = new Batch();
    this.#writing = null;
    for (const { before } of failed) {
      for (const change of before.values()) this.#state.apply(change);
    }
    try {
      await this.#journal.cut();
    } catch {
      this.#broken = failure;
    }
    for (const batch of failed) batch.reject(failure);
  }
}
