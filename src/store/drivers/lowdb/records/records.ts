import type { Failure } from '../../../../failure.ts';
import { BudgetScopes, type Payer } from '../../../budgets.ts';
import { closed } from '../../../errors.ts';
import { newId } from '../../../identifier.ts';
import type { Operation, UnitOfWork } from '../../../operations/unit-of-work.ts';
import type { Archive } from '../archive/archive.ts';
import type { CommitQueue } from '../journal/commit-queue.ts';
import type { State } from '../state/state.ts';
import type { TaskArchiver } from './archiver.ts';
import { PendingCharges } from './charges.ts';
import { Reservations } from './reservations.ts';
import { Transaction } from './transaction.ts';

interface RecordsOptions
  extends Pick<
    Records,
    'commits' | 'archive' | 'archiver' | 'backlogFailure' | 'now' | 'onCharge'
  > {
  readonly state: State;
}

/** The records in memory, with the charges and commits in progress. All methods change records through it. */
export class Records {
  /** State without the charges that are not booked yet. */
  readonly bookedState: State;
  /** Reads the records of that state. */
  readonly booked: UnitOfWork;
  readonly commits: CommitQueue;
  /** Ended tasks on disk. */
  readonly archive: Archive;
  /** Moves ended tasks to the archive. */
  readonly archiver: TaskArchiver;
  readonly reservations = new Reservations();
  readonly charges: PendingCharges;
  /** Failure with which new work is rejected while checkpoints fail and the journals are too long. */
  readonly backlogFailure: () => Failure | null;
  readonly now: () => number;
  readonly onCharge: ((payer: Payer) => void) | undefined;
  /** Identifier of this process as a node. Tasks that others process are orphans: they have ended. */
  readonly node = newId('node');
  readonly scopes = new BudgetScopes();
  #isClosed = false;

  constructor(options: RecordsOptions) {
    const { state, commits, archive, archiver, backlogFailure, now, onCharge } = options;
    this.bookedState = state;
    this.booked = new Transaction(state, this.reservations.of);
    this.commits = commits;
    this.archive = archive;
    this.archiver = archiver;
    this.charges = new PendingCharges(state, commits, this.reservations);
    this.backlogFailure = backlogFailure;
    this.now = now;
    this.onCharge = onCharge;
  }

  /** State with all charges booked. */
  get state(): State {
    this.charges.bookAll();
    return this.bookedState;
  }

  begin(): Transaction {
    return new Transaction(this.state, this.reservations.of);
  }

  /** Runs work on a transaction. Resolves when its changes are on disk. */
  async change<Result>(work: (transaction: Transaction) => Result): Promise<Result> {
    const transaction = this.begin();
    const result = work(transaction);
    await this.commit(transaction);
    return result;
  }

  /** Applies the changes at once. Resolves when they, and what they were derived from, are on disk. */
  commit({ changes }: Transaction): Promise<void> {
    this.checkOpen();
    if (changes.length > 0) return this.commits.commit(changes);
    return this.commits.synced() ?? Promise.resolve();
  }

  /** Runs an operation, which may throw, at once. Resolves when its changes are on disk. */
  run<Result>({ apply }: Operation<Result>): Promise<Result> {
    return this.change(apply);
  }

  /** Later commits are rejected. */
  close(): void {
    if (!this.#isClosed) this.charges.close();
    this.#isClosed = true;
  }

  checkOpen(): void {
    if (this.#isClosed) throw closed();
  }

  /** @throws Failure `store_unavailable` for new work while checkpoints fail and the journals are too long */
  checkBacklog(): void {
    const failure = this.backlogFailure();
    if (failure) throw failure;
  }

  /** A record as on disk, whose `reserved` includes reservations in memory and charges that are not on disk. */
  withReserved<Holder extends { readonly id: string; readonly reserved: number }>(
    holder: Holder,
  ): Holder {
    const sum = this.reservations.of(holder.id) + this.charges.booking.of(holder.id);
    return sum === 0 ? holder : { ...holder, reserved: holder.reserved + sum };
  }

  /**
   * Value of one row, once that is on disk. Methods that read return only what is on disk: they wait for records
   * that are being written, and read again if the write failed.
   */
  async readRow<Value>(
    collection: 'accounts' | 'tasks',
    read: () => { readonly order: number; readonly value: Value } | undefined,
  ): Promise<Value | undefined> {
    for (;;) {
      const found = read();
      if (!found) return undefined;
      const synced = this.commits.rowSynced(collection, found.order);
      if (synced === null || (await isWritten(synced))) return found.value;
    }
  }

  /** Value of many rows, once all of them are on disk. */
  async readRows<Value>(read: () => Value): Promise<Value> {
    for (;;) {
      const value = read();
      const synced = this.commits.synced();
      if (synced === null || (await isWritten(synced))) return value;
    }
  }
}

/** Whether the rows reached the disk. If not, they were reverted and must be read again. */
function isWritten(durable: Promise<void>): Promise<boolean> {
  return durable.then(
    () => true,
    () => false,
  );
}
