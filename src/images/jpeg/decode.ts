import { BitReader, readScanData } from './bit-reader.ts';
import {
  acDecoder,
  acRefiner,
  type BlockDecoder,
  dcDecoder,
  type Scan,
  sequentialDecoder,
} from './decode-blocks.ts';
import {
  type Band,
  BLOCK,
  coefficientBytes,
  type Frame,
  isFrameHeader,
  openFrame,
  readQuantisation,
  readShape,
} from './frame.ts';
import { type DecodingTable, decodingTable, standardTable } from './huffman.ts';
import { isMetadata } from './metadata.ts';
import {
  damaged,
  impossible,
  type JpegFile,
  MARKER,
  readSegment,
  type Segment,
} from './segments.ts';

/** Bounds on the work over one picture. */
export interface JpegBounds {
  /** Most pixels of a picture. */
  readonly pixels: number;
  /** Checks the bytes of all coefficients before they are allocated, and may throw. */
  readonly admit?: (pixels: number, bytes: number) => void;
  /** Called for each row of blocks; throws after the deadline. */
  readonly check: () => void;
}

/** Most scans of a picture: the common scripts have about ten, and each one visits all blocks. */
const MAX_SCANS = 256;

/**
 * Decodes a picture to quantised coefficients: Huffman-coded, 8 bits, sequential or progressive.
 *
 * @returns the picture, metadata between scans, and bytes after its end: further pictures, or data of editors
 * @throws Failure corrupt_image for damage, lossless_impossible for other processes
 */
export function decodeJpeg({ segments, scans }: JpegFile, bounds: JpegBounds) {
  const decoder = new Decoder(bounds);
  for (const segment of segments) decoder.table(segment);
  const metadata: Segment[] = [];
  let at = 0;
  for (let count = 0; ; ) {
    const segment = readSegment(scans, at);
    at = segment.end;
    if (segment.marker === MARKER.EOI) break;
    if (segment.marker === MARKER.SOS) {
      count += 1;
      if (count > MAX_SCANS) throw impossible(`JPEG of more than ${MAX_SCANS} scans`);
      at = decoder.scan(segment.data, scans, at);
    } else {
      decoder.table(segment);
      if (isMetadata(segment)) metadata.push(segment);
    }
  }
  return { frame: decoder.finish(), metadata, trailer: scans.subarray(at) };
}

class Decoder {
  readonly #bounds: JpegBounds;
  readonly #quantisation = new Map<number, Uint16Array>();
  readonly #dc: (DecodingTable | undefined)[] = [];
  readonly #ac: (DecodingTable | undefined)[] = [];
  #interval = 0;
  #shape: ReturnType<typeof readShape> | undefined;
  #frame: Frame | undefined;
  /** Bit position of each coefficient by component; -1 before its first scan. */
  readonly #positions: Int8Array[] = [];

  constructor(bounds: JpegBounds) {
    this.#bounds = bounds;
  }

  table(segment: Segment): void {
    const { marker, data } = segment;
    if (marker === MARKER.DQT) {
      readQuantisation(data, this.#quantisation, this.#frame !== undefined);
    } else if (marker === MARKER.DHT) {
      this.#readHuffman(data);
    } else if (marker === MARKER.DRI) {
      if (data.length !== 2) throw damaged('its restart interval is invalid');
      this.#interval = data.readUInt16BE();
    } else if (isFrameHeader(marker)) {
      if (this.#shape) throw damaged('it has two frames');
      this.#shape = readShape(segment);
      const { width, height, components } = this.#shape;
      if (width * height > this.#bounds.pixels)
        throw impossible(`${width}x${height} is more than the limit of pixels`);
      this.#bounds.admit?.(width * height, coefficientBytes(this.#shape));
      for (const _ of components) this.#positions.push(new Int8Array(BLOCK).fill(-1));
    } else if (marker === MARKER.DAC || marker === MARKER.DNL || marker < MARKER.APP0) {
      throw impossible('JPEG of this process cannot be changed without loss');
    }
  }

  #readHuffman(data: Buffer): void {
    for (let at = 0; at < data.length; ) {
      const [kind, number] = [data[at]! >> 4, data[at]! & 15];
      const counts = data.subarray(at + 1, at + 17);
      const total = counts.reduce((sum, count) => sum + count, 0);
      const end = at + 17 + total;
      if (kind > 1 || number > 3 || total > 256 || end > data.length)
        throw damaged('a Huffman table is invalid');
      const symbols = data.subarray(at + 17, end);
      (kind === 0 ? this.#dc : this.#ac)[number] = decodingTable({ counts, symbols });
      at = end;
    }
  }

  /** Decodes one scan and returns the place of the next marker. */
  scan(header: Buffer, file: Buffer, start: number): number {
    if (!this.#shape) throw damaged('it has no frame header');
    this.#frame ??= openFrame(this.#shape, this.#quantisation);
    const scan = this.#readHeader(header, this.#frame);
    const data = readScanData(file, start);
    const reader = new BitReader(data);
    const decode = this.#blockDecoder(scan, reader);
    const { horizontal, vertical, width, height } = this.#frame;
    const alone = scan.components.length === 1 ? scan.components[0]!.component : null;
    const across = alone ? alone.columns : Math.ceil(width / (8 * horizontal));
    const down = alone ? alone.rows : Math.ceil(height / (8 * vertical));
    let left = this.#interval;
    for (let row = 0; row < down; row += 1) {
      this.#bounds.check();
      for (let column = 0; column < across; column += 1) {
        if (this.#interval > 0) {
          if (left === 0) {
            reader.restart();
            decode.restart();
            left = this.#interval;
          }
          left -= 1;
        }
        if (alone) decode.block(0, (row * alone.stride + column) * BLOCK);
        else decodeMcu(scan, decode, row, column);
      }
      reader.check();
    }
    if (decode.pending() > 0) throw damaged('a scan breaks off');
    return data.end;
  }

  #readHeader(header: Buffer, { components, progressive }: Frame): Scan {
    const count = header[0] ?? 0;
    if (count < 1 || count > components.length || header.length !== 4 + count * 2)
      throw damaged('a scan header is invalid');
    const [first, last, position] = header.subarray(1 + count * 2) as unknown as number[];
    const scan = { first: first!, last: last!, high: position! >> 4, low: position! & 15 };
    const { high, low } = scan;
    const valid = progressive
      ? scan.first <= scan.last && scan.last < BLOCK && low < 14 && (high === 0 || high === low + 1)
      : scan.first === 0 && scan.last === BLOCK - 1 && high === 0 && low === 0;
    const split = scan.first > 0 ? count > 1 : progressive && scan.last > 0;
    if (!valid || split) throw damaged('a scan header is invalid');
    let blocks = 0;
    const chosen = Array.from({ length: count }, (_, index) => {
      const number = components.findIndex(({ id }) => id === header[1 + index * 2]);
      const tables = header[2 + index * 2]!;
      const component = components[number];
      if (!component) throw damaged('a scan is of no component');
      if (!this.#quantisation.has(component.table))
        throw damaged('a quantisation table is missing');
      blocks += component.horizontal * component.vertical;
      this.#advance(this.#positions[number]!, scan);
      const standard = (kind: 'dc' | 'ac', place: number) =>
        progressive ? undefined : standardTable(kind, place);
      const dc = this.#dc[tables >> 4] ?? standard('dc', tables >> 4);
      const ac = this.#ac[tables & 15] ?? standard('ac', tables & 15);
      const needsDc = scan.first === 0 && high === 0;
      if ((needsDc && !dc) || (scan.last > 0 && !ac)) throw damaged('a Huffman table is missing');
      return { component, dc, ac };
    });
    if (
      new Set(chosen.map(({ component }) => component)).size < count ||
      (count > 1 && blocks > 10)
    )
      throw damaged('a scan header is invalid');
    return { components: chosen, ...scan };
  }

  /** Notes which bits of a component a scan adds: each once, from the highest on (G.1.1.1). */
  #advance(positions: Int8Array, { first, last, high, low }: Band): void {
    for (let index = first; index <= last; index += 1) {
      if (positions[index] !== (high === 0 ? -1 : high)) throw damaged('scans are out of order');
      positions[index] = low;
    }
  }

  #blockDecoder(scan: Scan, reader: BitReader): BlockDecoder {
    if (!this.#frame!.progressive) return sequentialDecoder(scan, reader);
    if (scan.first === 0) return dcDecoder(scan, reader);
    return scan.high === 0 ? acDecoder(scan, reader) : acRefiner(scan, reader);
  }

  /** @throws Failure lossless_impossible if bits are missing, which decoders would smooth */
  finish(): Frame {
    if (!this.#frame) throw damaged('it has no scan');
    if (this.#positions.some((positions) => positions.some((position) => position !== 0)))
      throw impossible('JPEG with missing scans cannot be changed without loss');
    return this.#frame;
  }
}

function decodeMcu({ components }: Scan, decode: BlockDecoder, row: number, column: number): void {
  for (let index = 0; index < components.length; index += 1) {
    const { horizontal, vertical, stride } = components[index]!.component;
    for (let down = 0; down < vertical; down += 1) {
      const start = (row * vertical + down) * stride + column * horizontal;
      for (let across = 0; across < horizontal; across += 1)
        decode.block(index, (start + across) * BLOCK);
    }
  }
}
