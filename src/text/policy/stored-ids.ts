/** Identifiers that one account may have. */
const MOST_OF_ACCOUNT = 10_000;

/** Identifiers in all; one takes about 150 bytes. */
const MOST = 200_000;

/** Longer ones are no identifiers of providers. */
const LONGEST = 128;

/**
 * Identifiers of what providers stored, by the account that they were given to: answers and their items.
 * Kept in memory, the oldest of an account forgotten first; a restart forgets all.
 */
export class StoredIds {
  readonly #byAccount = new Map<string, Set<string>>();
  #size = 0;

  has(accountId: string, id: string): boolean {
    return this.#byAccount.get(accountId)?.has(id) === true;
  }

  add(accountId: string, ids: readonly string[]): void {
    const given = this.#byAccount.get(accountId) ?? new Set<string>();
    this.#byAccount.set(accountId, given);
    for (const id of ids) {
      if (id.length > LONGEST || given.has(id)) continue;
      given.add(id);
      this.#size += 1;
      if (given.size > MOST_OF_ACCOUNT) this.#forget(given, 1);
    }
    while (this.#size > MOST) this.#forgetOfLargest();
  }

  /** Half of them at once: finding the account takes longer than forgetting. */
  #forgetOfLargest(): void {
    let largest: Set<string> = new Set();
    for (const given of this.#byAccount.values()) if (given.size > largest.size) largest = given;
    this.#forget(largest, Math.ceil(largest.size / 2));
    for (const [accountId, { size }] of this.#byAccount) {
      if (size === 0) this.#byAccount.delete(accountId);
    }
  }

  #forget(given: Set<string>, count: number): void {
    let left = count;
    for (const id of given) {
      if (left === 0) return;
      given.delete(id);
      this.#size -= 1;
      left -= 1;
    }
  }
}
