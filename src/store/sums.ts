/**
 * Sums by name, such as bytes by account. A sum of 0 takes no memory, so that names may come and go without end.
 */
export class Sums {
  readonly #sums = new Map<string, number>();

  /** The sum of a name; 0 for one to which nothing was added. */
  of(name: string): number {
    return this.#sums.get(name) ?? 0;
  }

  /**
   * Adds to the sum of a name.
   *
   * @param amount below 0 to subtract
   */
  add(name: string, amount: number): void {
    const sum = this.of(name) + amount;
    if (sum === 0) this.#sums.delete(name);
    else this.#sums.set(name, sum);
  }

  /** The sum of all names. */
  get total(): number {
    let total = 0;
    for (const sum of this.#sums.values()) total += sum;
    return total;
  }

  /** Names with their sums, without those of 0. */
  [Symbol.iterator](): Iterator<[name: string, sum: number]> {
    return this.#sums.entries();
  }
}
