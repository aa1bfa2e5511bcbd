import { BLOCK, type Component, type Frame, frameSegment, quantisationSegment } from './frame.ts';
import { bestLengths, type CodeLengths, codesOf } from './huffman.ts';
import { damaged, joinJpeg, MARKER, type Segment } from './segments.ts';

/** One scan of an encoding (T.81, B.2.3), of components by their number in the frame. */
interface Scan {
  readonly components: readonly number[];
  readonly first: number;
  readonly last: number;
  readonly high: number;
  readonly low: number;
}

/** What encoders of scans give: symbols of Huffman tables with bits after them. */
interface Sink {
  /** @param table DC tables are 0 to 3, AC tables 4 to 7 */
  symbol(table: number, symbol: number, bits: number, length: number): void;
  bits(bits: number, length: number): void;
}

const AC = 4;

/** Counts symbols, for tables and sizes. */
class Counter implements Sink {
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
class Writer implements Sink {
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

/** A scan with its best tables and its size. */
interface Measured {
  readonly scan: Scan;
  readonly tables: ReadonlyMap<number, CodeLengths>;
  readonly size: number;
}

/**
 * Encodes coefficients with the best Huffman tables: sequential or progressive, or the smaller of both.
 *
 * @param check called for each row of blocks; throws after the deadline
 * @throws Failure corrupt_image for coefficients that the process cannot hold
 */
export function encodeJpeg(
  frame: Frame,
  metadata: readonly Segment[],
  progressive: boolean | 'auto',
  check: () => void,
): { readonly bytes: Buffer; readonly progressive: boolean } {
  const encoder = new Encoder(frame, check);
  const size = (scans: readonly Measured[]) => scans.reduce((sum, scan) => sum + scan.size, 0);
  const sequential = progressive === true ? null : encoder.sequential();
  const several = progressive === false ? null : encoder.progressive();
  const isProgressive =
    sequential === null || (several !== null && size(several) < size(sequential));
  const scans = (isProgressive ? several : sequential)!.flatMap((measured) =>
    encoder.write(measured, isProgressive),
  );
  const head = [...metadata, quantisationSegment(frame.quantisation)];
  const rest = Buffer.concat([...scans, Buffer.from([0xff, MARKER.EOI])]);
  const bytes = joinJpeg([...head, frameSegment(frame, isProgressive)], rest);
  return { bytes, progressive: isProgressive };
}

/** Scans of AC of one component that are compared by size: as [first, last, high, low]. */
const SCRIPTS: readonly (readonly (readonly [number, number, number, number])[])[] = [
  [[1, 63, 0, 0]],
  [
    [1, 8, 0, 0],
    [9, 63, 0, 0],
  ],
  [
    [1, 8, 0, 2],
    [9, 63, 0, 2],
    [1, 63, 2, 1],
    [1, 63, 1, 0],
  ],
];

class Encoder {
  readonly #frame: Frame;
  readonly #check: () => void;
  /** By component and block: the place of the last coefficient that is not 0. */
  readonly #ends: readonly Uint8Array[];

  constructor(frame: Frame, check: () => void) {
    this.#frame = frame;
    this.#ends = frame.components.map(lastPlaces);
    this.#check = check;
  }

  sequential(): Measured[] {
    const components = this.#frame.components.map((_, index) => index);
    return [this.#measure({ components, first: 0, last: 63, high: 0, low: 0 }, false)];
  }

  progressive(): Measured[] {
    const components = this.#frame.components.map((_, index) => index);
    const dc = this.#measure({ components, first: 0, last: 0, high: 0, low: 0 }, true);
    const ac = components.flatMap((component) => {
      let best: readonly Measured[] = [];
      let least = Number.POSITIVE_INFINITY;
      for (const script of SCRIPTS) {
        const scans = script.map(([first, last, high, low]) =>
          this.#measure({ components: [component], first, last, high, low }, true),
        );
        const size = scans.reduce((sum, scan) => sum + scan.size, 0);
        if (size < least) [best, least] = [scans, size];
      }
      return best;
    });
    return [dc, ...ac];
  }

  #measure(scan: Scan, progressive: boolean): Measured {
    const counter = new Counter();
    this.#encode(scan, progressive, counter);
    const tables = counter.tables();
    return { scan, tables, size: counter.size(tables) };
  }

  /** The segments of a scan's tables, its header and its data. */
  write({ scan, tables, size }: Measured, progressive: boolean): Uint8Array[] {
    const { components, first, last, high, low } = scan;
    const tableData = [...tables].map(([table, { counts, symbols }]) => {
      const kind = table < AC ? table : 0x10 | (table - AC);
      return Buffer.concat([Buffer.from([kind]), counts, symbols]);
    });
    const header = [
      components.length,
      ...components.flatMap((index) => {
        const table = tableOf(index);
        // What a scan does not use is 0 (B.2.3, G.1.2).
        const dc = first === 0 && high === 0 ? table << 4 : 0;
        return [this.#frame.components[index]!.id, dc | (last > 0 ? table : 0)];
      }),
      ...[first, last, (high << 4) | low],
    ];
    const writer = new Writer(tables, size);
    this.#encode(scan, progressive, writer);
    const dht = tableData.length > 0 ? [segment(MARKER.DHT, Buffer.concat(tableData))] : [];
    return [...dht, segment(MARKER.SOS, Buffer.from(header)), writer.finish()];
  }

  #encode(scan: Scan, progressive: boolean, sink: Sink): void {
    const { components, first, high } = scan;
    if (first > 0) {
      const encode = high === 0 ? encodeAc : refineAc;
      const index = components[0]!;
      const component = this.#frame.components[index]!;
      encode({ component, index, ends: this.#ends[index]!, scan, sink, check: this.#check });
    } else this.#encodeInterleaved(scan, progressive, sink);
  }

  /** Encodes all components, with AC if sequential. */
  #encodeInterleaved({ components }: Scan, progressive: boolean, sink: Sink): void {
    const { width, height, horizontal, vertical } = this.#frame;
    const across = Math.ceil(width / (8 * horizontal));
    const down = Math.ceil(height / (8 * vertical));
    const predictions = new Int32Array(components.length);
    for (let row = 0; row < down; row += 1) {
      this.#check();
      for (let column = 0; column < across; column += 1) {
        for (const index of components) {
          const component = this.#frame.components[index]!;
          const ends = this.#ends[index]!;
          for (let y = row * component.vertical; y < (row + 1) * component.vertical; y += 1) {
            const from = column * component.horizontal;
            for (let x = from; x < from + component.horizontal; x += 1) {
              const table = tableOf(index);
              const { coefficients, columns, rows, stride } = component;
              // Blocks that only fill the last MCU have the DC before them, which takes fewest bits.
              const isReal = x < columns && y < rows;
              const at = (y * stride + x) * BLOCK;
              const dc = isReal ? coefficients[at]! : predictions[index]!;
              encodeNumber(sink, table, 0, dc - predictions[index]!, MAX_DC_BITS);
              predictions[index] = dc;
              if (progressive) continue;
              if (isReal) encodeSequentialAc(coefficients, at, ends[at / BLOCK]!, AC + table, sink);
              else sink.symbol(AC + table, 0, 0, 0);
            }
          }
        }
      }
    }
  }
}

function lastPlaces({ coefficients }: Component): Uint8Array {
  const ends = new Uint8Array(coefficients.length / BLOCK);
  const pairs = new Int32Array(coefficients.buffer);
  for (let block = 0; block < ends.length; block += 1) {
    let pair = BLOCK / 2 - 1;
    while (pair > 0 && pairs[(block * BLOCK) / 2 + pair] === 0) pair -= 1;
    const last = pair * 2 + 1;
    ends[block] = coefficients[block * BLOCK + last] === 0 ? last - 1 : last;
  }
  return ends;
}

/** The tables of a component: the baseline process has two of each kind, for luma and for colour. */
function tableOf(component: number): number {
  return component === 1 || component === 2 ? 1 : 0;
}

function segment(marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

/** Bits of the largest numbers of pictures of 8 bits (F.1.2). */
const MAX_DC_BITS = 11;
const MAX_AC_BITS = 10;

/** Encodes a number after a run of zeros (F.1.2.1, F.1.2.2). */
function encodeNumber(sink: Sink, table: number, run: number, value: number, most: number): void {
  const magnitude = value < 0 ? -value : value;
  const length = 32 - Math.clz32(magnitude);
  if (length > most) throw damaged('a coefficient is out of range');
  const bits = value < 0 ? value + (1 << length) - 1 : value;
  sink.symbol(table, (run << 4) | length, bits, length);
}

/** @param last place in the block of the last coefficient that is not 0 */
function encodeSequentialAc(
  coefficients: Int16Array,
  at: number,
  last: number,
  table: number,
  sink: Sink,
): void {
  let run = 0;
  for (let place = at + 1; place <= at + last; place += 1) {
    const value = coefficients[place]!;
    if (value === 0) {
      run += 1;
      continue;
    }
    for (; run > 15; run -= 16) sink.symbol(table, 0xf0, 0, 0);
    encodeNumber(sink, table, run, value, MAX_AC_BITS);
    run = 0;
  }
  if (last < BLOCK - 1) sink.symbol(table, 0, 0, 0);
}

const MAX_RUN = 0x7fff;

/** A run of blocks that have ended (G.1.2.2): EOBn and its bits. */
function encodeRun(sink: Sink, table: number, run: number): void {
  if (run === 0) return;
  const exponent = 31 - Math.clz32(run);
  sink.symbol(table, exponent << 4, run - (1 << exponent), exponent);
}

/** A scan of AC of one component. */
interface AcScan {
  readonly component: Component;
  readonly index: number;
  readonly ends: Uint8Array;
  readonly scan: Scan;
  readonly sink: Sink;
  readonly check: () => void;
}

function encodeAc({ component, index, ends, scan, sink, check }: AcScan): void {
  const { first, last, low } = scan;
  const { coefficients, columns, rows, stride } = component;
  const table = AC + tableOf(index);
  let ended = 0;
  for (let y = 0; y < rows; y += 1) {
    check();
    for (let x = 0; x < columns; x += 1) {
      const at = (y * stride + x) * BLOCK;
      let run = 0;
      const stop = Math.min(last, ends[at / BLOCK]!);
      for (let place = at + first; place <= at + stop; place += 1) {
        const value = coefficients[place]!;
        // Division by the power of two, towards 0 (A.4).
        const shifted = value < 0 ? -(-value >> low) : value >> low;
        if (shifted === 0) {
          run += 1;
          continue;
        }
        encodeRun(sink, table, ended);
        ended = 0;
        for (; run > 15; run -= 16) sink.symbol(table, 0xf0, 0, 0);
        encodeNumber(sink, table, run, shifted, MAX_AC_BITS);
        run = 0;
      }
      if (run === 0 && stop === last) continue;
      ended += 1;
      if (ended === MAX_RUN) {
        encodeRun(sink, table, ended);
        ended = 0;
      }
    }
  }
  encodeRun(sink, table, ended);
}

/** Correction bits that wait for the end of a run, at most. */
const MAX_WAITING = 1000;

/** Refines coefficients by one bit (G.1.2.3). */
function refineAc({ component, index, ends, scan, sink, check }: AcScan): void {
  const { first, last, low } = scan;
  const { coefficients, columns, rows, stride } = component;
  const table = AC + tableOf(index);
  /** Correction bits of ended blocks, and after them those of this block. */
  const waiting = new Uint8Array(MAX_WAITING);
  let count = 0;
  let ended = 0;
  let flushed = 0;
  const flush = (from: number, to: number) => {
    for (let bit = from; bit < to; bit += 1) sink.bits(waiting[bit]!, 1);
  };
  const endRun = () => {
    if (ended === 0) return;
    encodeRun(sink, table, ended);
    flush(0, flushed);
    // Bits of the block in progress remain.
    waiting.copyWithin(0, flushed, count);
    count -= flushed;
    [ended, flushed] = [0, 0];
  };
  for (let y = 0; y < rows; y += 1) {
    check();
    for (let x = 0; x < columns; x += 1) {
      const at = (y * stride + x) * BLOCK;
      let final = first - 1;
      const stop = Math.min(last, ends[at / BLOCK]!);
      for (let place = stop; place >= first; place -= 1) {
        const value = coefficients[at + place]!;
        if ((value < 0 ? -value : value) >> low === 1) {
          final = place;
          break;
        }
      }
      let run = 0;
      for (let place = first; place <= stop; place += 1) {
        const value = coefficients[at + place]!;
        const shifted = (value < 0 ? -value : value) >> low;
        if (shifted === 0) {
          run += 1;
          continue;
        }
        // A run of zeros is needed only before a new coefficient.
        for (; run > 15 && place <= final; run -= 16) {
          endRun();
          sink.symbol(table, 0xf0, 0, 0);
          flush(0, count);
          count = 0;
        }
        if (shifted > 1) {
          waiting[count] = shifted & 1;
          count += 1;
          continue;
        }
        endRun();
        sink.symbol(table, (run << 4) | 1, value < 0 ? 0 : 1, 1);
        flush(0, count);
        [count, run] = [0, 0];
      }
      if (run === 0 && stop === last && count === flushed) continue;
      ended += 1;
      flushed = count;
      if (ended === MAX_RUN || count > MAX_WAITING - BLOCK + 1) endRun();
    }
  }
  endRun();
}
