import { bestLengths, type CodeLengths, codesOf } from './huffman.ts';

/** What encoders of scans give: symbols of Huffman tables with bits after them. */
export interface Sink {
  /** @param table DC tables are 0 to 3, AC tables 4 to 7 */
  symbol(table: number, symbol: number, bits: number, length: number): void;
  bits(bits: number, length: number): void;
}

/** Number of the first AC table. */
export const AC = 4;

/** Counts symbols, for tables and sizes. */
export class Counter implements Sink {
  readonly frequencies = Array.from({ length: 8 }, () => new Uint32Array(256));
  #bits = 0;

  symbol(table: number, symbol: number, _: number, length: number): void {
    this.frequencies[table]![symbol]! += 1;
    this.#bits += length;
  }

  bits(_: number, length: number): void {
    this.#bits += length;
  }

  /** The best tables by number. */
  tables(): Map<number, CodeLengths> {
    return new Map(
      this.frequencies.flatMap((frequencies, table) =>
        frequencies.some((frequency) => frequency > 0)
          ? [[table, bestLengths(frequencies)] as const]
          : [],
      ),
    );
  }

  /** Bytes of the scan with its tables, without stuffed zeros. */
  size(tables: ReadonlyMap<number, CodeLengths>): number {
    let bits = this.#bits;
    let bytes = 14;
    for (const [table, lengths] of tables) {
      for (const [symbol, code] of codesOf(lengths).entries())
        bits += (code & 31) * this.frequencies[table]![symbol]!;
      bytes += 17 + lengths.symbols.length;
    }
    return bytes + Math.ceil(bits / 8);
  }
}

/** Writes codes and bits, with a zero after each byte of ones (B.1.1.5). */
export class Writer implements Sink {
  readonly #codes: readonly Uint32Array[];
  #out: Uint8Array;
  #length = 0;
  #bits = 0;
  #count = 0;

  constructor(tables: ReadonlyMap<number, CodeLengths>, size: number) {
    const none = new Uint32Array(0);
    this.#codes = Array.from({ length: 8 }, (_, table) => {
      const lengths = tables.get(table);
      return lengths ? codesOf(lengths) : none;
    });
    this.#out = new Uint8Array(size + (size >> 6) + 64);
  }

  symbol(table: number, symbol: number, bits: number, length: number): void {
    const code = this.#codes[table]![symbol]!;
    this.bits(code >> 5, code & 31);
    if (length > 0) this.bits(bits, length);
  }

  bits(bits: number, length: number): void {
    // At most 7 bits wait, and 16 are added.
    this.#bits = (this.#bits << length) | bits;
    this.#count += length;
    while (this.#count >= 8) {
      this.#count -= 8;
      this.#byte((this.#bits >>> this.#count) & 255);
    }
    this.#bits &= (1 << this.#count) - 1;
  }

  #byte(byte: number): void {
    if (this.#length + 2 > this.#out.length) {
      const larger = new Uint8Array(this.#out.length * 2);
      larger.set(this.#out);
      this.#out = larger;
    }
    this.#out[this.#length] = byte;
    this.#length += 1;
    if (byte === 0xff) {
      this.#out[this.#length] = 0;
      this.#length += 1;
    }
  }

  finish(): Uint8Array {
    if (this.#count > 0) this.bits((1 << (8 - this.#count)) - 1, 8 - this.#count);
    return this.#out.subarray(0, this.#length);
  }
}
