import { spend, spendable } from '../funds.ts';
import { type Counts, dayOf } from '../ledger.ts';
import type { Metered } from '../store.ts';
import type { Commits } from './commits.ts';
import type { Holds } from './holds.ts';
import { holderIn, type State } from './state.ts';
import { Transaction } from './transaction.ts';

/** Milliseconds for charges to gather: each time they are taken in costs as much as a request. */
const PATIENCE = 20;

interface Payer {
  readonly accountId: string;
  readonly keyId: string;
}

/** What requests of one key to one model used since it was last taken into the records. */
interface Charge extends Payer {
  readonly model: string;
  /** Requests that cost something. */
  paid: number;
  /** Micro-credits. */
  amount: number;
  readonly counts: { -readonly [Count in keyof Counts]: number };
  /** When it last grew. */
  at: number;
}

/**
 * Charges on their way into the records, held until they are there. Records are never changed in
 * place: one charge by itself would make four new ones and take them through all indexes, for 10 µs;
 * so those of some milliseconds share that.
 */
export class Charges {
  readonly #state: State;
  readonly #commits: Commits;
  readonly #holds: Holds;
  /** By the identifier of the key, then by model; all of one day. */
  #byKey = new Map<string, Map<string, Charge>>();
  #day = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(state: State, commits: Commits, holds: Holds) {
    this.#state = state;
    this.#commits = commits;
    this.#holds = holds;
  }

  /** @param amount micro-credits, at most what the payer can spend */
  add(payer: Payer, { model, counts }: Metered, amount: number, at: number): void {
    const day = dayOf(at);
    if (day !== this.#day) this.fold();
    this.#day = day;
    const charge = this.#byKey.get(payer.keyId)?.get(model) ?? this.#begin(payer, model);
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
    this.#holds.add(payer, amount);
    this.#timer ??= setTimeout(() => this.fold(false), PATIENCE);
  }

  /** Takes them into the records. @param lazy whether the disk may wait for more */
  fold(lazy = true): void {
    if (this.#byKey.size === 0) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const all = this.#byKey;
    this.#byKey = new Map();
    for (const models of all.values()) {
      for (const charge of models.values()) {
        this.#holds.add(charge, -charge.amount);
        this.#write(charge, lazy);
      }
    }
  }

  #write(charge: Charge, lazy: boolean): void {
    const { accountId, keyId, model, counts, paid } = charge;
    const before = holderIn(this.#state, charge);
    // Nobody is there to pay, or has less, only where the disk failed and took back what they had.
    if (!before) return;
    const held = this.#holds.of(accountId, keyId);
    const amount = Math.max(0, Math.min(charge.amount, spendable(before, held)));
    const holder = spend(before, amount);
    const transaction = new Transaction(this.#state, charge.at);
    if (amount > 0) {
      transaction.holder(holder);
      transaction.sumOfCharges(holder, model, paid, amount);
    }
    transaction.usage(accountId, model, counts, amount);
    try {
      this.#commits.commit(transaction.changes, lazy).catch(() => {});
    } catch {
      // Nothing can be written any more; whoever comes next is told.
    }
  }

  #begin({ accountId, keyId }: Payer, model: string): Charge {
    const none = { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, outputs: 0 };
    const charge = { accountId, keyId, model, paid: 0, amount: 0, counts: none, at: 0 };
    const models = this.#byKey.get(keyId) ?? new Map<string, Charge>();
    this.#byKey.set(keyId, models.set(model, charge));
    return charge;
  }
}
