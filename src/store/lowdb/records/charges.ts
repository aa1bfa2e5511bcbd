import { spend, spendable } from '../../funds.ts';
import { dayOf, type UsageCounts } from '../../ledger.ts';
import type { MeteredUsage } from '../../store.ts';
import type { CommitQueue } from '../journal/commit-queue.ts';
import { type Change, type ChargeRow, findKeyHolder, type State } from '../state/state.ts';
import { Reservations } from './reservations.ts';
import { Transaction } from './transaction.ts';

/**
 * Milliseconds until charges are booked: at the accounts, the keys, the ledger and the usage. It is a
 * commit, so that this is also how long charges may be in the page cache alone. Accounts show them as
 * reserved until then.
 */
const BOOKING_INTERVAL_MS = 200;

interface Payer {
  readonly accountId: string;
  readonly keyId: string;
}

/** What requests of one key to one model used on one day since it was last booked. */
interface Charge extends ChargeRow {
  /** Its place among the rows of charges. */
  readonly order: number;
  paid: number;
  amount: number;
  at: number;
  readonly counts: { -readonly [Count in keyof UsageCounts]: number };
}

/**
 * Charges that are not booked yet, held until they are. To book one takes four new records through
 * all indexes, 10 µs and a kilobyte of the journal; so each is noted in the journal as a row of its
 * own, and those of one interval are booked together, in the commit that removes the rows. While the
 * disk fails they stay here.
 */
export class PendingCharges {
  readonly #state: State;
  readonly #commits: CommitQueue;
  readonly #reservations: Reservations;
  /** What is being booked: to a reader of rows on disk it is neither held nor spent yet. */
  readonly booking = new Reservations();
  /** By the identifier of the key, then by model; all of one day. */
  #byKey = new Map<string, Map<string, Charge>>();
  #day = '';
  /** Charges to book that nothing is added to any more. */
  #complete: Charge[] = [];
  /** Charges that differ from their rows. */
  readonly #dirty = new Set<Charge>();
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

  /** Requests that are not booked yet. */
  get pending(): number {
    let sum = 0;
    for (const { counts } of this.#all()) sum += counts.requests;
    return sum;
  }

  /**
   * Adds a charge. Resolves once it is in the journal, though a power cut may take it back; also
   * where the journal takes nothing, since it is kept in memory then and written as soon as it does.
   *
   * @param amount micro-credits, at most what the payer can spend
   */
  add(payer: Payer, { model, counts }: MeteredUsage, amount: number, at: number): Promise<void> {
    const day = dayOf(at);
    if (day !== this.#day) this.#complete = this.#take();
    this.#day = day;
    const charge = this.#byKey.get(payer.keyId)?.get(model) ?? this.#create(payer, model);
    const requests = counts.requests ?? 1;
    if (amount > 0) charge.paid += requests;
    charge.amount += amount;
    charge.at = at;
    const sum = charge.counts;
    sum.requests += requests;
    sum.inputTokens += counts.inputTokens ?? 0;
    sum.cachedInputTokens += counts.cachedInputTokens ?? 0;
    sum.outputTokens += counts.outputTokens ?? 0;
    sum.outputs += counts.outputs ?? 0;
    this.#reservations.add(payer, amount);
    this.#dirty.add(charge);
    this.#schedule();
    if (!this.#written) {
      this.#written = new Promise((resolve) => {
        this.#resolveWritten = resolve;
      });
      // With all the others of this turn of the event loop.
      setImmediate(() => this.#writeRows());
    }
    return this.#written;
  }

  /** Books them. While the disk fails they wait, unless this is the last chance. */
  bookAll(isLast = false): void {
    if (this.#byKey.size === 0 && this.#complete.length === 0) return;
    if (this.#commits.failure && !isLast) return;
    const all = this.#take();
    this.#complete = [];
    for (const charge of all) this.#book(charge);
  }

  /** Books what is left. Nothing may be added any more. */
  close(): void {
    this.bookAll(true);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** All, as charges that nothing is added to any more. */
  #take(): Charge[] {
    const all = [...this.#all()];
    this.#byKey = new Map();
    return all;
  }

  *#all(): Generator<Charge> {
    yield* this.#complete;
    for (const models of this.#byKey.values()) yield* models.values();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.bookAll();
      if (this.#complete.length > 0) this.#schedule();
    }, BOOKING_INTERVAL_MS);
  }

  /** Writes the rows of those that have grown. */
  #writeRows(): void {
    // `onIdle` calls again after the batch; charges that it books are on disk by then.
    if (this.#commits.isBusy) return;
    if (this.#dirty.size > 0) {
      try {
        this.#commits.writeUnsynced([...this.#dirty].map(rowOf));
        this.#dirty.clear();
      } catch {
        // They stay dirty and are written after the recovery.
      }
    }
    this.#written = null;
    this.#resolveWritten();
  }

  #book(charge: Charge): void {
    const { order, accountId, keyId, model, counts, paid } = charge;
    const isDirty = this.#dirty.delete(charge);
    this.#reservations.add(charge, -charge.amount);
    const transaction = new Transaction(this.#state, charge.at);
    transaction.changes.push(['charges', order, null]);
    const before = findKeyHolder(this.#state, charge);
    // The account is gone, or has less, only if a failed write undid its creation or its credits.
    if (before) {
      const held = this.#reservations.of(accountId, keyId);
      const amount = Math.max(0, Math.min(charge.amount, spendable(before, held)));
      const holder = spend(before, amount);
      if (amount > 0) {
        transaction.holder(holder);
        transaction.addToDailyCharge(holder, model, paid, amount);
      }
      transaction.usage(accountId, model, counts, amount);
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

  #create({ accountId, keyId }: Payer, model: string): Charge {
    const counts = {
      requests: 0,
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      outputs: 0,
    };
    const order = this.#state.charges.newOrder();
    const charge = { order, accountId, keyId, model, paid: 0, amount: 0, counts, at: 0 };
    const models = this.#byKey.get(keyId) ?? new Map<string, Charge>();
    this.#byKey.set(keyId, models.set(model, charge));
    return charge;
  }
}

function rowOf({ order, counts, ...row }: Charge): Change {
  return ['charges', order, { ...row, counts: { ...counts } }];
}
