import { getOrInsert } from '../../../../maps.ts';
import type { BudgetScope, Payer } from '../../../budgets.ts';
import { accountFunds, spend } from '../../../funds.ts';
import {
  addCounts,
  type MeteredUsage,
  NO_USAGE,
  type UsageCounts,
  utcDayOf,
} from '../../../ledger.ts';
import type { CommitQueue } from '../journal/commit-queue.ts';
import type { Change, ChargeRow, State } from '../state/state.ts';
import { Reservations } from './reservations.ts';
import { Transaction } from './transaction.ts';

/**
 * Milliseconds until charges are booked on accounts, keys, ledger and usage. Booking is a commit, so this
 * is also the longest time that a charge is only in the page cache. Until then accounts show it as
 * reserved.
 */
const BOOKING_INTERVAL_MS = 200;

/** Usage and charges of a key's requests to one model with the same tags on one day since they were last booked. */
interface Charge extends ChargeRow {
  /** Order of its row in the collection `charges`. */
  readonly order: number;
  paid: number;
  amount: number;
  at: number;
  counts: UsageCounts;
}

interface NewCharge {
  readonly payer: Payer;
  readonly scope: BudgetScope | undefined;
  readonly metered: MeteredUsage;
  /** Micro-credits, at most what the payer can spend. */
  readonly amount: number;
  readonly at: number;
}

/**
 * Charges that are not booked yet, and reserved until they are. Booking one puts four new records through
 * all indexes and takes 10 µs and a kilobyte of the journal. So each charge is written to the journal as a
 * row of its own, and those of one interval are booked together, in the commit that removes the rows. While
 * the disk fails they stay here.
 */
export class PendingCharges {
  readonly #state: State;
  readonly #commits: CommitQueue;
  readonly #reservations: Reservations;
  /** Charges whose booking is not on disk yet: the rows on disk have them neither as reserved nor as spent. */
  readonly booking = new Reservations();
  /** Charges of one day, by the scope, or else by the identifier of the key, then by model and tags. */
  #byPayer = new Map<string | BudgetScope, Map<string, Charge>>();
  #day = '';
  /** Charges to book, which no longer grow. */
  #complete: Charge[] = [];
  /** Charges that differ from their rows. */
  readonly #dirty = new Set<Charge>();
  /** Rows of charges that the pending batch books, which were not written when it did. */
  #booked: Change[] = [];
  #written: Promise<void> | null = null;
  #resolveWritten: () => void = () => {};
  #timer: NodeJS.Timeout | null = null;

  constructor(state: State, commits: CommitQueue, reservations: Reservations) {
    this.#state = state;
    this.#commits = commits;
    this.#reservations = reservations;
    for (const [order, row] of state.charges.rows) {
      this.#complete.push({ ...row, order });
      reservations.add(row, row.amount);
    }
    if (state.charges.size > 0) this.#schedule();
    commits.onBatchEnd = () => this.#writeRows();
  }

  /** Number of requests whose charges are not booked yet. */
  get pending(): number {
    let sum = 0;
    for (const { counts } of this.#all()) sum += counts.requests;
    return sum;
  }

  /**
   * Adds a charge. Resolves once it is in the journal, where a power cut may still lose it. Resolves also
   * if the write fails: the charge is kept in memory then and written as soon as the disk accepts it.
   */
  add({ payer, scope, metered, amount, at }: NewCharge): Promise<void> {
    const { counts } = metered;
    const day = utcDayOf(at);
    if (day !== this.#day) this.#complete = this.#take();
    this.#day = day;
    // A scope is an object of one key.
    const charges = this.#byPayer.get(scope ?? payer.keyId);
    const tags = this.#state.admittedTags(payer.accountId, day, metered.tags ?? '');
    const name = tags === '' ? metered.model : `${metered.model}\0${tags}`;
    const charge = charges?.get(name) ?? this.#create(payer, name, scope);
    if (amount > 0) charge.paid += counts.requests ?? 1;
    charge.amount += amount;
    charge.at = at;
    charge.counts = addCounts(charge.counts, counts);
    this.#reservations.add(charge, amount);
    this.#dirty.add(charge);
    this.#schedule();
    if (!this.#written) {
      this.#written = new Promise((resolve) => {
        this.#resolveWritten = resolve;
      });
      // Written with all other charges of this turn of the event loop.
      setImmediate(() => this.#writeRows());
    }
    return this.#written;
  }

  /** Books all charges. While the disk fails they wait, unless `isLast` is set. */
  bookAll(isLast = false): void {
    if (this.#byPayer.size === 0 && this.#complete.length === 0) return;
    if (this.#commits.failure && !isLast) return;
    const all = this.#take();
    this.#complete = [];
    for (const charge of all) this.#book(charge);
  }

  /** Books the remaining charges. None may be added afterwards. */
  close(): void {
    this.bookAll(true);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Returns all charges. They no longer grow. */
  #take(): Charge[] {
    const all = [...this.#all()];
    this.#byPayer = new Map();
    return all;
  }

  *#all(): Generator<Charge> {
    yield* this.#complete;
    for (const models of this.#byPayer.values()) yield* models.values();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.bookAll();
      if (this.#complete.length > 0) this.#schedule();
    }, BOOKING_INTERVAL_MS);
  }

  /** Writes the rows of charges that have grown. */
  #writeRows(): void {
    // `onBatchEnd` calls this again after the batch. Charges that the batch books are on disk by then.
    if (this.#commits.isBusy) return;
    if (this.#dirty.size > 0 || this.#booked.length > 0) {
      try {
        this.#commits.writeUnsynced([...this.#dirty].map(rowOf), this.#booked);
        this.#dirty.clear();
      } catch {
        // The charges stay dirty and are written after the recovery.
      }
    }
    this.#booked = [];
    this.#written = null;
    this.#resolveWritten();
  }

  #book(charge: Charge): void {
    const { order, model, scope, tags, counts, paid, at } = charge;
    const isDirty = this.#dirty.delete(charge);
    // The booking is not in the batch that is being written, but requests are answered when that one has ended.
    if (isDirty && this.#commits.isBusy) this.#booked.push(rowOf(charge));
    this.#reservations.add(charge, -charge.amount);
    const transaction = new Transaction(this.#state, this.#reservations.of);
    transaction.changes.push(['charges', order, null]);
    const account = transaction.find('account', charge.accountId);
    const key = transaction.find('key', charge.keyId);
    // A failed write may have reverted the creation of the account or a grant of credits.
    if (account && key?.accountId === account.id) {
      const before = { account, key };
      // Budgets may have been lowered since the charge; the account's credits have not.
      const available = accountFunds(before, this.#reservations.of);
      const amount = Math.max(0, Math.min(charge.amount, available));
      const funds = spend(transaction.funds(before, scope), amount);
      if (amount > 0) {
        transaction.putFunds(funds);
        transaction.dailyCharge(funds, { model, requests: paid, amount }, at);
      }
      transaction.addUsage(charge, { model, counts, charge: amount, tags }, at);
    }
    this.booking.add(charge, charge.amount);
    this.#commits.commit(transaction.changes).then(
      () => this.booking.add(charge, -charge.amount),
      () => {
        this.booking.add(charge, -charge.amount);
        this.#reservations.add(charge, charge.amount);
        this.#complete.push(charge);
        if (isDirty) this.#dirty.add(charge);
        this.#schedule();
      },
    );
  }

  /** @param name the model and, after NUL, the tags */
  #create({ accountId, keyId }: Payer, name: string, scope: BudgetScope | undefined): Charge {
    const [model, tags] = name.split('\0') as [string, string?];
    const order = this.#state.charges.newOrder();
    const sums = { paid: 0, amount: 0, counts: NO_USAGE, at: 0 };
    const charge: Charge = { order, accountId, keyId, model, scope, tags, ...sums };
    getOrInsert(this.#byPayer, scope ?? keyId, () => new Map()).set(name, charge);
    return charge;
  }
}

function rowOf({ order, ...row }: Charge): Change {
  return ['charges', order, row];
}
