import { AC, type Sink } from './entropy-sink.ts';
import { type Band, BLOCK, type Component, MAX_AC_BITS } from './frame.ts';
import { damaged } from './segments.ts';

/** One scan of an encoding (T.81, B.2.3), of components by their number in the frame. */
export interface Scan extends Band {
  readonly components: readonly number[];
}

/** The tables of a component: the baseline process has two of each kind, for luma and for colour. */
export const tableOf = (component: number): number => (component === 1 || component === 2 ? 1 : 0);

/** Encodes a number after a run of zeros (F.1.2.1, F.1.2.2). */
export function encodeNumber(
  sink: Sink,
  table: number,
  run: number,
  value: number,
  most: number,
): void {
  const magnitude = value < 0 ? -value : value;
  const length = 32 - Math.clz32(magnitude);
  if (length > most) throw damaged('a coefficient is out of range');
  const bits = value < 0 ? value + (1 << length) - 1 : value;
  sink.symbol(table, (run << 4) | length, bits, length);
}

/** @param last place in the block of the last coefficient that is not 0 */
export function encodeSequentialAc(
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

export function encodeAc({ component, index, ends, scan, sink, check }: AcScan): void {
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
export function refineAc({ component, index, ends, scan, sink, check }: AcScan): void {
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
