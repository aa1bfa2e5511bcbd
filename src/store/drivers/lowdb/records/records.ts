import type { Failure } from '../../../../failure.ts';
import { BudgetScopes, type Payer } from '../../../budgets.ts';
import { closed } from '../../../errors.ts';
import { newId } from '../../../identifier.ts';
import type { WorkCharges } from '../../../ledger.ts';
import type { Operation } from '../../../operations/unit-of-work.ts';
import type { Archive } from '../archive/archive.ts';
import type { CommitQueue } from '../journal/commit-queue.ts';
import type { State } from '../state/state.ts';
import type { TaskArchiver } from './archiver.ts';
import { PendingCharges } from './charges.ts';
import { Reservations } from './reservations.ts';
import { Transaction } from './transaction.ts';

interface RecordsOptions {
  /** State without the charges that are not booked yet. */
  readonly bookedState: State;
  readonly commits: CommitQueue;
  /** Ended tasks on disk. */
  readonly archive: Archive;
  /** Moves ended tasks to the archive. */
  readonly archiver: TaskArchiver;
  /** Failure with which new work is rejected while checkpoints fail and the journals are too long. */
  readonly backlogFailure: () => Failure | null;
  readonly now: () => number;
  readonly onCharge: ((payer: Payer) => void) | undefined;
}

export type Records = ReturnType<typeof recordsOf>;

/** The records in memory, with the charges and commits in progress. All methods change records through it. */
export function recordsOf(options: RecordsOptions) {
  const { bookedState, commits, backlogFailure } = options;
  const reservations = new Reservations();
  const charges = new PendingCharges(bookedState, commits, reservations);
  let isClosed = false;

  const checkOpen = () => {
    if (isClosed) throw closed();
  };
  const begin = (): Transaction => {
    charges.bookAll();
    return new Transaction(bookedState, reservations.of);
  };
  /** Applies the changes at once. Resolves when they, and what they were derived from, are on disk. */
  const commit = ({ changes }: Transaction): Promise<void> => {
    checkOpen();
    if (changes.length > 0) return commits.commit(changes);
    return commits.synced() ?? Promise.resolve();
  };
  /** Runs work on a transaction, which may throw, at once. Resolves when its changes are on disk. */
  const change = async <Result>(work: (transaction: Transaction) => Result): Promise<Result> => {
    const transaction = begin();
    const result = work(transaction);
    await commit(transaction);
    return result;
  };

  return {
    ...options,
    ...{ reservations, charges, checkOpen, begin, commit, change },
    /** Reads the records without the charges that are not booked yet. */
    booked: new Transaction(bookedState, reservations.of),
    /** Identifier of this process as a node. Tasks that others process are orphans: they have ended. */
    node: newId('node'),
    scopes: new BudgetScopes(),
    /** State with all charges booked. */
    get state(): State {
      charges.bookAll();
      return bookedState;
    },
    run: <Result>({ apply }: Operation<Result>): Promise<Result> => change(apply),
    /** Ends the reservations for work whose charge follows in the same turn of the event loop. */
    beginCharge(accountId: string, { keyId, held }: WorkCharges): void {
      for (const { id } of held) reservations.end(id);
      options.onCharge?.({ accountId, keyId });
    },
    /** Later commits are rejected. */
    close(): void {
      if (!isClosed) charges.close();
      isClosed = true;
    },
    /** @throws Failure `store_unavailable` for new work while checkpoints fail and the journals are too long */
    checkBacklog(): void {
      const failure = backlogFailure();
      if (failure) throw failure;
    },
    /** A record as on disk, whose `reserved` includes reservations in memory and charges that are not on disk. */
    withReserved<Holder extends { readonly id: string; readonly reserved: number }>(
      holder: Holder,
    ): Holder {
      const sum = reservations.of(holder.id) + charges.booking.of(holder.id);
      return sum === 0 ? holder : { ...holder, reserved: holder.reserved + sum };
    },
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
        const synced = commits.rowSynced(collection, found.order);
        if (synced === null || (await isWritten(synced))) return found.value;
      }
    },
    /** Value of many rows, once all of them are on disk. */
    async readRows<Value>(read: () => Value): Promise<Value> {
      for (;;) {
        const value = read();
        const synced = commits.synced();
        if (synced === null || (await isWritten(synced))) return value;
      }
    },
  };
}

/** Whether the rows reached the disk. If not, they were reverted and must be read again. */
function isWritten(durable: Promise<void>): Promise<boolean> {
  return durable.then(
    () => true,
    () => false,
  );
}
