import { Failure } from '../../../../failure.ts';
import type { Account } from '../../../account.ts';
import { type BudgetScope, BudgetScopes, type Payer } from '../../../budgets.ts';
import { notFound } from '../../../errors.ts';
import type { Funds } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import type { KeyHolder } from '../../../store.ts';
import type { Archive } from '../archive/archive.ts';
import type { CommitQueue } from '../journal/commit-queue.ts';
import { findKeyHolder, fundsIn, type State } from '../state/state.ts';
import type { TaskArchiver } from './archiver.ts';
import { PendingCharges } from './charges.ts';
import { Reservations } from './reservations.ts';
import { Transaction } from './transaction.ts';

interface RecordsOptions
  extends Pick<Records, 'commits' | 'archive' | 'archiver' | 'backlogFailure' | 'now'> {
  readonly state: State;
}

/** The records in memory, with the charges and commits in progress. All methods change records through it. */
export class Records {
  /** State without the charges that are not booked yet. */
  readonly bookedState: State;
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
  /** Identifier of this process as a node. Tasks that others process are orphans: they have ended. */
  readonly node = newId('node');
  readonly #scopes = new BudgetScopes();
  #isClosed = false;

  constructor({ state, commits, archive, archiver, backlogFailure, now }: RecordsOptions) {
    this.bookedState = state;
    this.commits = commits;
    this.archive = archive;
    this.archiver = archiver;
    this.charges = new PendingCharges(state, commits, this.reservations);
    this.backlogFailure = backlogFailure;
    this.now = now;
  }

  /** State with all charges booked. */
  get state(): State {
    this.charges.bookAll();
    return this.bookedState;
  }

  begin(): Transaction {
    return new Transaction(this.state, this.now(), this.reservations.of);
  }

  /** Applies the changes at once. Resolves when they are on disk. */
  commit({ changes }: Transaction): Promise<void> {
    this.checkOpen();
    return this.commits.commit(changes);
  }

  /** Later commits are rejected. */
  close(): void {
    if (!this.#isClosed) this.charges.close();
    this.#isClosed = true;
  }

  checkOpen(): void {
    if (!this.#isClosed) return;
    throw new Failure('service_error', 'the store is closed', {
      code: 'store_unavailable',
    });
  }

  /** @throws Failure `store_unavailable` for new work while checkpoints fail and the journals are too long */
  checkBacklog(): void {
    const failure = this.backlogFailure();
    if (failure) throw failure;
  }

  account(id: string): Account {
    const account = this.state.accountById.get(id);
    if (!account) throw notFound('account', id);
    return account;
  }

  /**
   * @param state with or without the charges that are not booked yet
   * @throws Failure 404 if the account does not exist, or has no such key
   */
  holder({ accountId, keyId }: Payer, state = this.state): KeyHolder {
    const holder = findKeyHolder(state, { accountId, keyId });
    if (holder) return holder;
    if (!state.accountById.get(accountId)) throw notFound('account', accountId);
    throw notFound('key', keyId);
  }

  /** A record as on disk, whose `reserved` includes reservations in memory and charges that are not on disk. */
  withReserved<Holder extends { readonly id: string; readonly reserved: number }>(
    holder: Holder,
  ): Holder {
    const sum = this.reservations.of(holder.id) + this.charges.booking.of(holder.id);
    return sum === 0 ? holder : { ...holder, reserved: holder.reserved + sum };
  }

  /** Team and windows in which credits that are reserved now will count. */
  scopeOf({ key }: KeyHolder): BudgetScope | undefined {
    const team = key.teamId === undefined ? undefined : this.bookedState.teamById.get(key.teamId);
    return this.#scopes.of(key, team, this.now());
  }

  /** @param state with or without the charges that are not booked yet */
  funds(holder: KeyHolder, scope: BudgetScope | undefined, state = this.state): Funds {
    return fundsIn(state, holder, scope);
  }
}
