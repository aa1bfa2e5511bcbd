import {
  encodeAc,
  encodeNumber,
  encodeSequentialAc,
  refineAc,
  type Scan,
  tableOf,
} from './encode-blocks.ts';
import { AC, Counter, type Sink, Writer } from './entropy-sink.ts';
import {
  type Band,
  BLOCK,
  type Component,
  type Frame,
  frameSegment,
  MAX_DC_BITS,
  quantisationSegment,
} from './frame.ts';
import type { CodeLengths } from './huffman.ts';
import { joinJpeg, MARKER, type Segment, segmentBytes } from './segments.ts';

/** A scan with its best tables and its size. */
interface ScanPlan {
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
  const sequential = progressive === true ? null : encoder.sequential();
  const several = progressive === false ? null : encoder.progressive();
  const isProgressive =
    sequential === null || (several !== null && sizeOf(several) < sizeOf(sequential));
  const scans = (isProgressive ? several : sequential)!.flatMap((measured) =>
    encoder.write(measured, isProgressive),
  );
  const head = [...metadata, quantisationSegment(frame.quantisation)];
  const rest = Buffer.concat([...scans, Buffer.from([0xff, MARKER.EOI])]);
  const bytes = joinJpeg([...head, frameSegment(frame, isProgressive)], rest);
  return { bytes, progressive: isProgressive };
}

function sizeOf(scans: readonly ScanPlan[]): number {
  return scans.reduce((sum, { size }) => sum + size, 0);
}

const band = (first: number, last: number, high = 0, low = 0): Band => ({ first, last, high, low });

/** Scans of AC of one component that are compared by size. */
const SCRIPTS: readonly (readonly Band[])[] = [
  [band(1, 63)],
  [band(1, 8), band(9, 63)],
  [band(1, 8, 0, 2), band(9, 63, 0, 2), band(1, 63, 2, 1), band(1, 63, 1, 0)],
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

  sequential(): ScanPlan[] {
    const components = this.#frame.components.map((_, index) => index);
    return [this.#measure({ components, ...band(0, 63) }, false)];
  }

  progressive(): ScanPlan[] {
    const components = this.#frame.components.map((_, index) => index);
    const dc = this.#measure({ components, ...band(0, 0) }, true);
    const ac = components.flatMap((component) => {
      let best: readonly ScanPlan[] = [];
      let least = Number.POSITIVE_INFINITY;
      for (const script of SCRIPTS) {
        const scans = script.map((scan) =>
          this.#measure({ components: [component], ...scan }, true),
        );
        const size = sizeOf(scans);
        if (size < least) [best, least] = [scans, size];
      }
      return best;
    });
    return [dc, ...ac];
  }

  #measure(scan: Scan, progressive: boolean): ScanPlan {
    const counter = new Counter();
    this.#encode(scan, progressive, counter);
    const tables = counter.tables();
    return { scan, tables, size: counter.size(tables) };
  }

  /** The segments of a scan's tables, its header and its data. */
  write({ scan, tables, size }: ScanPlan, progressive: boolean): Uint8Array[] {
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
    const dht = { marker: MARKER.DHT, data: Buffer.concat(tableData) };
    const sos = { marker: MARKER.SOS, data: Buffer.from(header) };
    const segments = tableData.length > 0 ? [dht, sos] : [sos];
    return [...segments.map(segmentBytes), writer.finish()];
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
