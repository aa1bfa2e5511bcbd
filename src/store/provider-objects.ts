/** Identifiers of one account. */
const MAX_OF_ACCOUNT = 10_000;

/** Identifiers of all accounts; one takes about 150 bytes. */
const MAX_IDS = 200_000;

/** Longer strings are no identifiers of providers. */
export const MAX_OBJECT_ID = 128;

/**
 * Identifiers of answers and items that providers stored, by the account that received them. They are
 * in memory only; the oldest of an account are removed first.
 */
export class ProviderObjects {
  readonly #byAccount = new Map<string, Set<string>>();
  #size = 0;

  /** Those of some identifiers that the account has received. */
  find(accountId: string, ids: readonly string[]): ReadonlySet<string> {
    const given = this.#byAccount.get(accountId);
    return new Set(ids.filter((id) => given?.has(id)));
  }

  add(accountId: string, ids: readonly string[]): void {
    const given = this.#byAccount.get(accountId) ?? new Set<string>();
    this.#byAccount.set(accountId, given);
    for (const id of ids) {
      if (id.length > MAX_OBJECT_ID || given.has(id)) continue;
      given.add(id);
      this.#size += 1;
      if (given.size > MAX_OF_ACCOUNT) this.#removeOldest(given, 1);
    }
    while (this.#size > MAX_IDS) this.#removeOfLargest();
  }

  /** Removes half of them at once, since finding the account takes longer than removing. */
  #removeOfLargest(): void {
    let largest: Set<string> = new Set();
    for (const given of this.#byAccount.values()) if (given.size > largest.size) largest = given;
    this.#removeOldest(largest, Math.ceil(largest.size / 2));
    for (const [accountId, { size }] of this.#byAccount) {
      if (size === 0) this.#byAccount.delete(accountId);
    }
  }

  #removeOldest(given: Set<string>, count: number): void {
    let left = count;
    for (const id of given) {
      if (left === 0) return;
      given.delete(id);
      this.#size -= 1;
      left -= 1;
    }
  }
}
