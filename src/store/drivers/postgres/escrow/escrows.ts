import { codedFailure, type Failure } from '../../../../failure.ts';
import type { Reservation, ScopedPayer } from '../../../budgets.ts';
import type { MeteredUsage } from '../../../ledger.ts';
import type { Draw, EscrowBank, FoldBatch } from './bank.ts';
import type { ChargeLog } from './charge-log.ts';
import { Escrow } from './escrow.ts';

/** Milliseconds from a charge to its fold, and at least between two folds: the age of what other nodes show. */
const FOLD_DELAY_MS = 50;
const FOLD_INTERVAL_MS = 200;

/** Milliseconds between two reviews of what is held without need. */
const REVIEW_INTERVAL_MS = 1000;

/** Milliseconds for which a refusal answers for equal amounts, so that clients that repeat cost no queries. */
const REFUSAL_MS = 250;

interface EscrowsOptions {
  readonly bank: EscrowBank;
  readonly log: ChargeLog;
  /** Identifier of the node. */
  readonly node: string;
  /** Whether the lease of the node holds for sure: afterwards other nodes may have returned its escrows. */
  readonly isLeased: () => boolean;
  /** Why the database cannot be used now; null while it answers. */
  readonly outage: () => Failure | null;
  /** Clock, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with the failure of a fold, which is repeated. */
  readonly onFault: (error: unknown) => void;
}

interface WaitingReservation {
  readonly amount: number;
  isRecalled: boolean;
  readonly resolve: () => void;
  readonly reject: (failure: unknown) => void;
}

/** The draws of one payer, one at a time. */
interface Account {
  readonly escrow: Escrow;
  readonly waiting: WaitingReservation[];
  isDrawing: boolean;
  /** Whether the last draw gave less than was wanted: until the next review only waiting requests draw. */
  isShort: boolean;
}

interface HeldReservation extends Reservation {
  readonly escrow: Escrow;
}

/** A batch with the escrow of each of its folds; without escrows once these are lost. */
interface EscrowBatch {
  readonly batch: FoldBatch;
  readonly escrows: readonly Escrow[];
}

interface Refusal {
  readonly accountId: string;
  readonly amount: number;
  readonly failure: Failure;
  readonly until: number;
}

/**
 * Reserves and charges credits of text requests in memory. Each payer has an escrow: credits that this node
 * has drawn from the database in advance, which count there as reserved. So the sum of all nodes never
 * exceeds a balance or a budget, and most requests wait for no query. Charges are in a file of this node
 * before `settle` resolves, and are folded into the database together.
 */
export class Escrows {
  readonly #options: EscrowsOptions;
  #node: string;
  #accounts = new Map<string, Account>();
  readonly #reservations = new Map<string, HeldReservation>();
  /** The last refusal of each payer. */
  readonly #refusals = new Map<string, Refusal>();
  /** Reservations since the start. */
  #count = 0;
  /** Number of the batch that new charges go to. */
  #number = 1;
  /** Batches to fold before all others: of a lost lease, or one whose commit is unknown. */
  readonly #batches: EscrowBatch[] = [];
  /** Draws in advance under way. */
  readonly #draws = new Set<Promise<void>>();
  #isClosed = false;
  #folding: Promise<void> | null = null;
  #foldTimer: NodeJS.Timeout | undefined;
  /** Monotonic time at which the last fold began. */
  #foldedAt = -Infinity;
  #reviewTimer: NodeJS.Timeout | undefined;

  constructor(options: EscrowsOptions) {
    this.#options = options;
    this.#node = options.node;
  }

  /** Micro-credits drawn that no request has reserved or spent. */
  get idle(): number {
    let sum = 0;
    for (const { escrow } of this.#accounts.values()) sum += escrow.idle;
    return sum;
  }

  /** Text requests whose charges are not in the database yet. */
  get pendingCharges(): number {
    let sum = 0;
    for (const { batch } of this.#batches) {
      for (const { charges } of batch.folds)
        for (const { counts } of charges) sum += counts.requests;
    }
    for (const { escrow } of this.#accounts.values()) sum += escrow.pendingRequests;
    return sum;
  }

  /** Drawn credits that requests use, by payer. */
  *usedByPayer(): Generator<readonly [payer: ScopedPayer, amount: number]> {
    for (const { escrow } of this.#accounts.values()) {
      if (escrow.used !== 0) yield [escrow.payer, escrow.used];
    }
  }

  /**
   * @throws Failure insufficient_quota where the credits of all nodes together do not suffice;
   *   `store_unavailable` where the node has lost its lease, or the database is away and the escrow is used up
   */
  async reserve(payer: ScopedPayer, amount: number): Promise<Reservation> {
    if (amount > 0 && !this.#options.isLeased()) throw leaseLost();
    const account = this.#accountOf(payer);
    if (amount > 0 && (account.waiting.length > 0 || account.escrow.free < amount)) {
      this.#checkRefusals(payer, amount);
      await this.#waitForCredits(account, amount);
    } else account.escrow.reserve(amount);
    this.#drawInAdvance(account);
    const { accountId, keyId, scope } = payer;
    const { escrow } = account;
    this.#count += 1;
    const id = `reservation_${this.#count}`;
    const reservation: HeldReservation = { id, accountId, keyId, amount, scope, escrow };
    this.#reservations.set(id, reservation);
    return reservation;
  }

  release({ id, accountId }: Reservation): void {
    const held = this.#reservations.get(id);
    if (!held) return;
    this.#reservations.delete(id);
    held.escrow.release(held.amount);
    this.changed(accountId);
  }

  /**
   * Charges a request, and ends its reservation if it has one.
   *
   * @returns the amount charged: more than was reserved only as far as the payer has it; 0 for a reservation
   *   that has ended
   */
  async settle(source: Reservation | ScopedPayer, metered: MeteredUsage): Promise<number> {
    const held = 'id' in source ? this.#reservations.get(source.id) : undefined;
    if ('id' in source && !held) return 0;
    const account = this.#accountOf(held ?? source);
    // Of an escrow that was lost with the lease, what it had reserved is gone.
    const reserved = held && account.escrow === held.escrow ? held.amount : 0;
    let amount = metered.charge;
    const missing = amount - reserved - Math.max(0, account.escrow.free);
    if (missing > 0) amount -= await this.#missingAfterDraw(account, missing);
    if (held) {
      // Another call may have ended it meanwhile.
      if (!this.#reservations.delete(held.id)) return 0;
      held.escrow.release(held.amount);
    }
    amount = Math.max(0, Math.min(amount, Math.max(0, account.escrow.free)));
    const { model, counts, tags } = metered;
    const settled = { model, tags, counts, amount, at: this.#options.now() };
    account.escrow.charge(settled);
    this.changed(account.escrow.payer.accountId);
    this.#scheduleFold();
    this.#drawInAdvance(account);
    const { payer } = account.escrow;
    await this.#options.log.append({ number: this.#number, payer, ...settled });
    return amount;
  }

  /** Resolves when everything charged before the call is in the database. @throws Failure `store_unavailable` */
  async flush(): Promise<void> {
    // The fold under way may have begun before the last charges.
    if (this.#folding) await this.#folding;
    if (this.#batches.length > 0 || this.#hasFolds()) await this.#fold();
  }

  /** Returns what no request needs of an account, for another node that asks for it. */
  async returnFree(accountId: string): Promise<void> {
    for (const { escrow } of this.#accounts.values()) {
      if (escrow.payer.accountId === accountId) escrow.returnFree();
    }
    await this.flush();
  }

  /** A grant, a change of a budget or an end of a reservation: refused requests of the account may succeed now. */
  changed(accountId: string): void {
    for (const [name, refusal] of this.#refusals) {
      if (refusal.accountId === accountId) this.#refusals.delete(name);
    }
  }

  /**
   * Starts again under a new identifier, after other nodes may have released this node's escrows. Charges
   * that are not folded yet are booked as far as the payers have credits.
   */
  lost(node: string): void {
    if (this.#hasFolds()) this.#batches.push(this.#takeBatch());
    // The escrows are lost: what is folded of their batches changes none of them.
    for (const [index, { batch }] of this.#batches.entries()) {
      this.#batches[index] = { batch, escrows: [] };
    }
    const waiting = [...this.#accounts.values()].flatMap((account) => account.waiting);
    this.#accounts = new Map();
    this.#node = node;
    for (const { reject } of waiting) reject(leaseLost());
    this.#scheduleFold();
  }

  /** Returns all credits and books all charges. What cannot be booked stays in the file of charges. */
  async close(): Promise<void> {
    clearTimeout(this.#reviewTimer);
    this.#isClosed = true;
    await Promise.all(this.#draws);
    for (const { escrow } of this.#accounts.values()) escrow.returnFree();
    await this.flush().catch(this.#options.onFault);
    clearTimeout(this.#foldTimer);
    this.#foldTimer = undefined;
  }

  #accountOf(payer: ScopedPayer): Account {
    const name = payerName(payer);
    const known = this.#accounts.get(name);
    if (known) return known;
    const { accountId, keyId, scope } = payer;
    const escrow = new Escrow({ accountId, keyId, scope });
    const account: Account = { escrow, waiting: [], isDrawing: false, isShort: false };
    this.#accounts.set(name, account);
    this.#scheduleReview();
    return account;
  }

  #checkRefusals(payer: ScopedPayer, amount: number): void {
    const refusal = this.#refusals.get(payerName(payer));
    if (refusal && amount === refusal.amount && this.#options.now() < refusal.until) {
      throw refusal.failure;
    }
  }

  #waitForCredits(account: Account, amount: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      account.waiting.push({ amount, isRecalled: false, resolve, reject });
      if (!account.isDrawing) void this.#draw(account);
    });
  }

  /** @throws Failure `store_unavailable`; then a fold finds out whether the draw was committed */
  async #drawOnce(
    account: Account,
    amounts: Pick<Draw, 'least' | 'wanted' | 'isAdvance'>,
  ): Promise<number | Failure> {
    const { escrow } = account;
    while (escrow.isUncertain) {
      if (!this.#isCurrent(account)) throw leaseLost();
      await this.flush();
    }
    const { payer } = escrow;
    const drawing = this.#options.bank.draw({ node: this.#node, payer, ...amounts });
    return escrow.draw(drawing).catch((error: unknown) => {
      this.#scheduleFold();
      throw error;
    });
  }

  /** Whether the account's escrow was not lost with the lease. */
  #isCurrent(account: Account): boolean {
    return this.#accounts.get(payerName(account.escrow.payer)) === account;
  }

  /** Draws for the requests to come, so that they do not wait. */
  #drawInAdvance(account: Account): void {
    const { escrow } = account;
    if (account.isDrawing || account.isShort || this.#isClosed || !escrow.isLow) return;
    account.isDrawing = true;
    const wanted = escrow.advance;
    const drawing = this.#drawOnce(account, { least: 0, wanted, isAdvance: true })
      .then(
        (drawn) => {
          account.isShort = typeof drawn !== 'number' || drawn < wanted;
        },
        () => {
          account.isShort = true;
        },
      )
      .finally(() => {
        account.isDrawing = false;
        this.#draws.delete(drawing);
        if (account.waiting.length > 0) void this.#draw(account);
      });
    this.#draws.add(drawing);
  }

  /** Draws until no reservation waits, in their order. */
  async #draw(account: Account): Promise<void> {
    const { escrow, waiting } = account;
    account.isDrawing = true;
    try {
      for (;;) {
        while (waiting.length > 0 && escrow.free >= waiting[0]!.amount) {
          const { amount, resolve } = waiting.shift()!;
          escrow.reserve(amount);
          resolve();
        }
        const [first] = waiting;
        if (first === undefined) return;
        const sum = waiting.reduce((total, { amount }) => total + amount, 0);
        const free = Math.max(0, escrow.free);
        const drawn = await this.#drawOnce(account, {
          least: first.amount - free,
          wanted: sum - free + escrow.peak,
        });
        if (!this.#isCurrent(account)) throw leaseLost();
        // The review may have rejected it meanwhile.
        if (typeof drawn === 'number' || waiting[0] !== first) continue;
        if (first.isRecalled) this.#refuse(account, drawn);
        else {
          first.isRecalled = true;
          await this.#recall(escrow.payer.accountId);
        }
      }
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error);
    } finally {
      account.isDrawing = false;
    }
  }

  #refuse({ escrow, waiting }: Account, failure: Failure): void {
    const { amount, reject } = waiting.shift()!;
    const { accountId } = escrow.payer;
    const until = this.#options.now() + REFUSAL_MS;
    this.#refusals.set(payerName(escrow.payer), { accountId, amount, failure, until });
    reject(failure);
  }

  /** Brings back what other payers of this node and other nodes hold of an account without need. */
  async #recall(accountId: string): Promise<void> {
    await this.returnFree(accountId);
    await this.#options.bank.recall(accountId);
  }

  /** Draws as much as there is of an amount. Returns what is still missing. */
  async #missingAfterDraw(account: Account, amount: number): Promise<number> {
    const draw = async (wanted: number) => {
      const drawn = await this.#drawOnce(account, { least: 0, wanted });
      return typeof drawn === 'number' ? wanted - drawn : wanted;
    };
    let missing = amount;
    try {
      missing = await draw(missing);
      if (missing === 0) return 0;
      await this.#recall(account.escrow.payer.accountId);
      return await draw(missing);
    } catch {
      // The database is away: the request is charged with what this node holds.
      return missing;
    }
  }

  #hasFolds(): boolean {
    for (const { escrow } of this.#accounts.values()) if (escrow.hasFold) return true;
    return false;
  }

  /** The next batch, with the escrow of each of its folds. */
  #takeBatch(): EscrowBatch {
    const escrows = [...this.#accounts.values()].flatMap(({ escrow }) =>
      escrow.hasFold ? [escrow] : [],
    );
    const folds = escrows.map((escrow) => escrow.takeFold());
    const batch = { node: this.#node, number: this.#number, folds };
    this.#number += 1;
    return { batch, escrows };
  }

  #scheduleFold(): void {
    const nextAt = this.#foldedAt + FOLD_INTERVAL_MS;
    this.#foldTimer ??= setTimeout(
      () => {
        this.#foldTimer = undefined;
        this.#fold().catch((error: unknown) => {
          this.#options.onFault(error);
          this.#scheduleFold();
        });
      },
      Math.max(FOLD_DELAY_MS, nextAt - performance.now()),
    );
  }

  #fold(): Promise<void> {
    this.#folding ??= this.#foldAll().finally(() => {
      this.#folding = null;
    });
    return this.#folding;
  }

  async #foldAll(): Promise<void> {
    await this.#foldBatches();
    if (!this.#hasFolds()) return;
    this.#foldedAt = performance.now();
    this.#batches.push(this.#takeBatch());
    await this.#foldBatches();
  }

  async #foldBatches(): Promise<void> {
    while (this.#batches.length > 0) {
      const { batch } = this.#batches[0]!;
      await this.#options.bank.fold(batch);
      const { escrows } = this.#batches.shift()!;
      for (const [index, escrow] of escrows.entries()) escrow.folded(batch.folds[index]!);
      this.#options.log.folded(batch);
      for (const { payer } of batch.folds) this.changed(payer.accountId);
    }
  }

  #scheduleReview(): void {
    this.#reviewTimer ??= setTimeout(() => {
      this.#reviewTimer = undefined;
      const outage = this.#options.outage();
      for (const [name, account] of this.#accounts) {
        // A draw under way ends only with its connection, where the database is there but gives no answer.
        if (outage) for (const { reject } of account.waiting.splice(0)) reject(outage);
        account.escrow.review();
        account.isShort = false;
        if (account.escrow.isEmpty && !account.isDrawing) this.#accounts.delete(name);
      }
      const now = this.#options.now();
      for (const [name, { until }] of this.#refusals) {
        if (until <= now) this.#refusals.delete(name);
      }
      if (this.#hasFolds()) this.#scheduleFold();
      if (this.#accounts.size > 0) this.#scheduleReview();
    }, REVIEW_INTERVAL_MS).unref();
  }
}

function payerName({ accountId, keyId, scope }: ScopedPayer): string {
  if (!scope) return `${accountId} ${keyId}`;
  return `${accountId} ${keyId} ${scope.teamId} ${scope.windows.join(' ')}`;
}

function leaseLost(): Failure {
  return codedFailure('store_unavailable', 'this node has lost its lease in the store; try again', {
    retryAfter: 1,
  });
}
