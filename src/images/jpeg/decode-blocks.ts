import type { BitReader } from './bit-reader.ts';
import { type Band, BLOCK, type Component, MAX_AC_BITS, MAX_DC_BITS } from './frame.ts';
import type { DecodingTable } from './huffman.ts';
import { damaged } from './segments.ts';

/** One scan: components and the part of the coefficients that it has (T.81, B.2.3). */
export interface Scan extends Band {
  readonly components: readonly {
    readonly component: Component;
    readonly dc: DecodingTable | undefined;
    readonly ac: DecodingTable | undefined;
  }[];
}

export interface BlockDecoder {
  /**
   * Decodes one block.
   *
   * @param index number of the component within the scan
   * @param at place of the block's first coefficient
   */
  block(index: number, at: number): void;
  restart(): void;
  /** Blocks of a run that has not ended. */
  pending(): number;
}

function readDifference(reader: BitReader, table: DecodingTable): number {
  const length = reader.symbol(table);
  if (length > MAX_DC_BITS) throw damaged('a coefficient is out of range');
  return reader.signed(length);
}

export function sequentialDecoder({ components }: Scan, reader: BitReader): BlockDecoder {
  const predictions = new Int32Array(components.length);
  return {
    block(index, at) {
      const { component, dc, ac } = components[index]!;
      const { coefficients } = component;
      predictions[index]! += readDifference(reader, dc!);
      coefficients[at] = predictions[index]!;
      for (let place = 1; place < BLOCK; place += 1) {
        const symbol = reader.symbol(ac!);
        const length = symbol & 15;
        if (length === 0) {
          if (symbol >> 4 < 15) return;
          place += 15;
          continue;
        }
        place += symbol >> 4;
        if (place >= BLOCK || length > MAX_AC_BITS) throw damaged('a coefficient is out of range');
        coefficients[at + place] = reader.signed(length);
      }
    },
    restart: () => predictions.fill(0),
    pending: () => 0,
  };
}

export function dcDecoder({ components, high, low }: Scan, reader: BitReader): BlockDecoder {
  const predictions = new Int32Array(components.length);
  return {
    block(index, at) {
      const { component, dc } = components[index]!;
      if (high === 0) {
        predictions[index]! += readDifference(reader, dc!);
        component.coefficients[at] = predictions[index]! << low;
      } else if (reader.bit() === 1) component.coefficients[at]! |= 1 << low;
    },
    restart: () => predictions.fill(0),
    pending: () => 0,
  };
}

/** Blocks of a run of ends of blocks, by its symbol (G.1.2.2). */
function readRun(reader: BitReader, exponent: number): number {
  return (1 << exponent) + (exponent > 0 ? reader.bits(exponent) : 0);
}

export function acDecoder({ components, first, last, low }: Scan, reader: BitReader): BlockDecoder {
  const { component, ac } = components[0]!;
  const { coefficients } = component;
  let run = 0;
  return {
    block(_, at) {
      if (run > 0) {
        run -= 1;
        return;
      }
      for (let place = first; place <= last; place += 1) {
        const symbol = reader.symbol(ac!);
        const length = symbol & 15;
        if (length > 0) {
          place += symbol >> 4;
          if (place > last || length > MAX_AC_BITS) throw damaged('a coefficient is out of range');
          coefficients[at + place] = reader.signed(length) * (1 << low);
        } else if (symbol >> 4 < 15) {
          run = readRun(reader, symbol >> 4) - 1;
          return;
        } else place += 15;
      }
    },
    restart() {
      if (run > 0) throw damaged('a scan breaks off');
    },
    pending: () => run,
  };
}

export function acRefiner({ components, first, last, low }: Scan, reader: BitReader): BlockDecoder {
  const { component, ac } = components[0]!;
  const { coefficients } = component;
  const bit = 1 << low;
  let run = 0;
  /** Adds a bit to the coefficient at a place, which is not 0. */
  const refine = (place: number) => {
    const value = coefficients[place]!;
    if (reader.bit() === 1) coefficients[place] = value > 0 ? value + bit : value - bit;
  };
  /** Refines from a place up to a coefficient that is 0 after so many others, and returns its place. */
  const skip = (at: number, from: number, zeros: number): number => {
    let left = zeros;
    let place = from;
    for (; place <= last; place += 1) {
      if (coefficients[at + place] !== 0) refine(at + place);
      else if (left === 0) return place;
      else left -= 1;
    }
    return place;
  };
  return {
    block(_, at) {
      let place = first;
      while (run === 0 && place <= last) {
        const symbol = reader.symbol(ac!);
        const zeros = symbol >> 4;
        const length = symbol & 15;
        if (length === 0 && zeros < 15) {
          run = readRun(reader, zeros);
          break;
        }
        if (length > 1) throw damaged('a coefficient is out of range');
        const value = length === 1 && reader.bit() === 1 ? bit : -bit;
        place = skip(at, place, zeros);
        if (place > last && length === 1) throw damaged('a coefficient is out of range');
        if (length === 1) coefficients[at + place] = value;
        place += 1;
      }
      if (run > 0) {
        skip(at, place, BLOCK);
        run -= 1;
      }
    },
    restart() {
      if (run > 0) throw damaged('a scan breaks off');
    },
    pending: () => run,
  };
}
