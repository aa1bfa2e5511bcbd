import { type DecodingTable, LOOKUP_BITS } from './huffman.ts';
import { damaged, MARKER } from './segments.ts';

/** The entropy-coded data of one scan. */
type ScanData = Readonly<ReturnType<typeof readScanData>>;

/**
 * Reads the data of one scan, without stuffed zeros (T.81, B.1.1.5).
 *
 * @returns the bytes, the ends of the restart intervals in them, and the place of the next marker in the file
 * @throws Failure corrupt_image if restart markers are out of order
 */
export function readScanData(file: Uint8Array, start: number) {
  const bytes = new Uint8Array(scanLength(file, start));
  const ends: number[] = [];
  let length = 0;
  let at = start;
  for (;;) {
    const found = file.indexOf(0xff, at);
    const stop = found < 0 ? file.length : found;
    bytes.set(file.subarray(at, stop), length);
    length += stop - at;
    at = stop;
    if (found < 0) break;
    const next = file[at + 1];
    if (next === 0) {
      bytes[length] = 0xff;
      length += 1;
      at += 2;
    } else if (next === 0xff) {
      at += 1;
    } else if (next !== undefined && next >= MARKER.RST0 && next <= MARKER.RST7) {
      if (next - MARKER.RST0 !== ends.length % 8) throw damaged('a restart marker is missing');
      ends.push(length);
      at += 2;
    } else break;
  }
  ends.push(length);
  return { bytes, ends, end: at };
}

/** Bytes up to the next marker that ends a scan. */
function scanLength(file: Uint8Array, start: number): number {
  for (let at = start; ; at += 1) {
    at = file.indexOf(0xff, at);
    if (at < 0) return file.length - start;
    const next = file[at + 1];
    const goes = next === 0 || next === 0xff || (next! >= MARKER.RST0 && next! <= MARKER.RST7);
    if (!goes) return at - start;
  }
}

/** Reads bits of one scan. Beyond the end of an interval it reads zeros until `check` or `restart`. */
export class BitReader {
  readonly #scan: ScanData;
  #interval = 0;
  #at = 0;
  #end: number;
  #bits = 0;
  #count = 0;

  constructor(scan: ScanData) {
    this.#scan = scan;
    this.#end = scan.ends[0]!;
  }

  #fill(): void {
    const { bytes } = this.#scan;
    do {
      this.#bits = (this.#bits << 8) | (this.#at < this.#end ? bytes[this.#at]! : 0);
      this.#at += 1;
      this.#count += 8;
    } while (this.#count <= 24);
  }

  symbol(table: DecodingTable): number {
    if (this.#count < 16) this.#fill();
    const found = table.lookup[(this.#bits >>> (this.#count - LOOKUP_BITS)) & LOOKUP_MASK]!;
    if (found !== 0) {
      this.#count -= found >> 8;
      return found & 255;
    }
    const next = (this.#bits >>> (this.#count - 16)) & 0xffff;
    for (let length = LOOKUP_BITS + 1; length <= 16; length += 1) {
      if (next >= table.limits[length]!) continue;
      this.#count -= length;
      return table.symbols[(next >> (16 - length)) + table.offsets[length]!]!;
    }
    throw damaged('it has an unknown Huffman code');
  }

  /** At most 16 bits. */
  bits(length: number): number {
    if (this.#count < length) this.#fill();
    this.#count -= length;
    return (this.#bits >>> this.#count) & ((1 << length) - 1);
  }

  bit(): number {
    if (this.#count === 0) this.#fill();
    this.#count -= 1;
    return (this.#bits >>> this.#count) & 1;
  }

  /** A number of so many bits, at most 16, as in F.2.2.1 (EXTEND). */
  signed(length: number): number {
    if (length === 0) return 0;
    const value = this.bits(length);
    return value < 1 << (length - 1) ? value - (1 << length) + 1 : value;
  }

  /** @throws Failure corrupt_image if bits beyond the interval were read */
  check(): void {
    if (this.#at - (this.#count >> 3) > this.#end) throw damaged('it breaks off');
  }

  /** Goes on with the next restart interval. */
  restart(): void {
    this.check();
    this.#at = this.#end;
    this.#interval += 1;
    const end = this.#scan.ends[this.#interval];
    if (end === undefined) throw damaged('a restart marker is missing');
    this.#end = end;
    this.#bits = 0;
    this.#count = 0;
  }
}

const LOOKUP_MASK = (1 << LOOKUP_BITS) - 1;
