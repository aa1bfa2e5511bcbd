import type { Account, ApiKey } from '../account.ts';
import type { Held } from '../funds.ts';
import type { Hold, KeyHolder } from '../store.ts';

/** Credits held by requests under way, beside the records: they are given back when the process ends. */
export class Holds {
  readonly #holds = new Map<string, Hold>();
  /** Sums by the identifier of an account or a key. */
  readonly #sums = new Map<string, number>();
  #count = 0;
  #total = 0;

  /** Of all accounts together. */
  get total(): number {
    return this.#total;
  }

  begin(accountId: string, keyId: string, amount: number): Hold {
    this.#count += 1;
    const hold = { id: `hold_${this.#count}`, accountId, keyId, amount };
    this.#holds.set(hold.id, hold);
    this.add(hold, amount);
    return hold;
  }

  /** Ends a hold. False where it has ended before. */
  end(id: string): boolean {
    const hold = this.#holds.get(id);
    if (!hold) return false;
    this.#holds.delete(id);
    this.add(hold, -hold.amount);
    return true;
  }

  /** Holds more, or less, beside the holds that end by their identifiers. */
  add({ accountId, keyId }: Pick<Hold, 'accountId' | 'keyId'>, amount: number): void {
    this.#total += amount;
    this.#change(accountId, amount);
    this.#change(keyId, amount);
  }

  of(accountId: string, keyId: string): Held {
    return { account: this.#sums.get(accountId) ?? 0, key: this.#sums.get(keyId) ?? 0 };
  }

  /** A record with what is held of it among what is reserved. */
  within<Holder extends Account | ApiKey>(holder: Holder): Holder {
    const sum = this.#sums.get(holder.id);
    return sum === undefined ? holder : { ...holder, reserved: holder.reserved + sum };
  }

  withinBoth({ key, account }: KeyHolder): KeyHolder {
    return { key: this.within(key), account: this.within(account) };
  }

  #change(id: string, amount: number): void {
    const sum = (this.#sums.get(id) ?? 0) + amount;
    if (sum === 0) this.#sums.delete(id);
    else this.#sums.set(id, sum);
  }
}
