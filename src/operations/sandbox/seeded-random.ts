import { createHash } from 'node:crypto';

/** A pseudorandom generator whose numbers depend on the given words only. */
export class SeededRandom {
  #state: number;

  constructor(...words: readonly string[]) {
    this.#state = createHash('sha256').update(JSON.stringify(words)).digest().readUInt32LE();
  }

  /** A number from `low` to `high`, excluding `high` (mulberry32). */
  between(low: number, high: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return low + (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * (high - low);
  }

  /** One of the values. */
  of<Value>(values: readonly [Value, ...Value[]]): Value {
    return values[Math.floor(this.between(0, values.length))]!;
  }
}
