/** A pseudo-random generator (sfc32) that gives the same sequence for the same seed. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed any text; the seed of a case is the run's seed, its kind and its number */
  constructor(seed: string) {
    // FNV-1a, three times with different offsets.
    const hash = (start: number) => {
      let value = start;
      for (let index = 0; index < seed.length; index += 1) {
        value = Math.imul(value ^ seed.charCodeAt(index), 0x01000193);
      }
      return value | 0;
    };
    this.#a = hash(0x811c9dc5);
    this.#b = hash(0x01234567);
    this.#c = hash(0x76543210);
    for (let round = 0; round < 12; round += 1) this.#next();
  }

  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number from 0 to below 1. */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number from 0 to below a limit. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  chance(share: number): boolean {
    return this.fraction() < share;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}
