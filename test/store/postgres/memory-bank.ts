import { Failure } from '../../../src/failure.ts';
import type { Account, ApiKey } from '../../../src/store/account.ts';
import type {
  Draw,
  EscrowBank,
  FoldBatch,
} from '../../../src/store/drivers/postgres/escrow/bank.ts';
import type { Escrows } from '../../../src/store/drivers/postgres/escrow/escrows.ts';
import {
  charge,
  checkFunds,
  release,
  reserve,
  spend,
  spendable,
} from '../../../src/store/funds.ts';
import type { KeyHolder } from '../../../src/store/store.ts';

export type Fault = 'before' | 'after' | null;

/** Accounts of several nodes in memory, by the rules that every driver applies. */
export class MemoryBank implements EscrowBank {
  readonly #accounts = new Map<string, Account>();
  readonly #keys = new Map<string, ApiKey>();
  readonly #drawn = new Map<string, Map<string, number>>();
  readonly #numbers = new Map<string, number>();
  readonly #nodes = new Map<string, Escrows>();
  /** Requests by model of all folds. */
  readonly requests = new Map<string, number>();
  draws = 0;
  folds = 0;
  /** The next calls wait for it. */
  answers: Promise<void> = Promise.resolve();
  /** Failure of the next calls: before or after they are committed. */
  fault: () => Fault = () => null;

  add({ account, key }: KeyHolder): void {
    this.#accounts.set(account.id, account);
    this.#keys.set(key.id, key);
  }

  join(node: string, escrows: Escrows): void {
    this.#nodes.set(node, escrows);
    this.#drawn.set(node, new Map());
  }

  holder(accountId: string, keyId: string): KeyHolder {
    return { account: this.#accounts.get(accountId)!, key: this.#keys.get(keyId)! };
  }

  account(id: string): Account {
    return this.#accounts.get(id)!;
  }

  /** Ends the lease of a node: its escrows return. */
  end(node: string): void {
    for (const [name, amount] of this.#drawn.get(node)!) {
      const [accountId, keyId] = name.split(' ') as [string, string];
      this.add(release(this.holder(accountId, keyId), amount));
    }
    this.#drawn.delete(node);
    this.#nodes.delete(node);
  }

  async draw({ node, payer, least, wanted, isAdvance = false }: Draw): Promise<number | Failure> {
    return this.#commit(() => {
      this.draws += 1;
      const drawn = this.#drawn.get(node);
      if (!drawn) throw unavailable();
      const funds = this.holder(payer.accountId, payer.keyId);
      const most = spendable(funds);
      if (least > most) {
        try {
          checkFunds(funds, least);
        } catch (failure) {
          if (failure instanceof Failure) return failure;
          throw failure;
        }
      }
      const amount = Math.min(wanted, isAdvance ? Math.floor(most / 2) : most);
      this.add(reserve(funds, amount));
      const name = `${payer.accountId} ${payer.keyId}`;
      drawn.set(name, (drawn.get(name) ?? 0) + amount);
      return amount;
    });
  }

  async fold({ node, number, folds }: FoldBatch): Promise<void> {
    return this.#commit(() => {
      if ((this.#numbers.get(node) ?? 0) >= number) return;
      this.folds += 1;
      this.#numbers.set(node, number);
      for (const { payer, charges, returned, held: known } of folds) {
        let funds: KeyHolder = this.holder(payer.accountId, payer.keyId);
        const name = `${payer.accountId} ${payer.keyId}`;
        let held = this.#drawn.get(node)?.get(name) ?? 0;
        const unknown = known === undefined ? 0 : Math.max(0, held - known);
        for (const { model, amount, counts } of charges) {
          const backed = Math.min(held, amount);
          funds = charge(funds, backed);
          funds = spend(funds, Math.min(amount - backed, spendable(funds)));
          held -= backed;
          this.requests.set(model, (this.requests.get(model) ?? 0) + counts.requests);
        }
        const released = Math.min(held, returned + unknown);
        this.#drawn.get(node)?.set(name, held - released);
        this.add(release(funds, released));
      }
    });
  }

  async recall(accountId: string): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((escrows) => escrows.returnFree(accountId)));
  }

  async #commit<Result>(work: () => Result): Promise<Result> {
    await this.answers;
    const fault = this.fault();
    if (fault === 'before') throw unavailable();
    const result = work();
    await Promise.resolve();
    if (fault === 'after') throw unavailable();
    return result;
  }
}

function unavailable(): Failure {
  return new Failure('service_error', 'the database is away', { code: 'store_unavailable' });
}
