import { inflateSync } from 'node:zlib';

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Four bytes a pixel, row by row. */
  readonly rgba: Uint8Array;
}

const SIGNATURE = 8;

/** Bytes of a chunk around its content: length and type before it, checksum behind it. */
const BEFORE = 8;
const AROUND = 12;

/** Samples of a pixel by colour type: grey, colours, grey and alpha, colours and alpha. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };

/**
 * The pixels of a PNG as our own encoder writes it: eight bits a channel, no palette, not interlaced
 * (https://www.w3.org/TR/png-3/). Only threads load a decoder, and sixels are made of pixels.
 *
 * @throws Error for any other
 */
export function readPng(png: Buffer): Pixels {
  const header = SIGNATURE + BEFORE;
  const width = png.readUInt32BE(header);
  const height = png.readUInt32BE(header + 4);
  const [depth, colourType = 0, , , interlaced] = png.subarray(header + 8, header + 13);
  const channels = CHANNELS[colourType];
  if (depth !== 8 || channels === undefined || interlaced !== 0) {
    throw new Error(`a PNG of depth ${depth}, colour type ${colourType}`);
  }
  const rows = inflateSync(compressed(png));
  unfilter(rows, width * channels, channels);
  return { width, height, rgba: spread(rows, { width, height, channels }) };
}

function compressed(png: Buffer): Buffer {
  const pieces = [];
  for (let at = SIGNATURE; at + AROUND <= png.length; ) {
    const length = png.readUInt32BE(at);
    const content = at + BEFORE;
    if (png.toString('latin1', at + 4, content) === 'IDAT') {
      pieces.push(png.subarray(content, content + length));
    }
    at += AROUND + length;
  }
  return Buffer.concat(pieces);
}

/** Turns differences into values, in place. Every row begins with the name of its filter. */
function unfilter(rows: Buffer, length: number, channels: number): void {
  const stride = length + 1;
  for (let start = 0; start < rows.length; start += stride) {
    const filter = rows[start]!;
    for (let index = 1; index <= length; index += 1) {
      const at = start + index;
      const left = index > channels ? rows[at - channels]! : 0;
      const up = start > 0 ? rows[at - stride]! : 0;
      const corner = index > channels && start > 0 ? rows[at - stride - channels]! : 0;
      rows[at] = rows[at]! + predicted(filter, left, up, corner);
    }
  }
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const toLeft = Math.abs(up - corner);
      const toUp = Math.abs(left - corner);
      const toCorner = Math.abs(left + up - 2 * corner);
      if (toLeft <= toUp && toLeft <= toCorner) return left;
      return toUp <= toCorner ? up : corner;
    }
    default:
      return 0;
  }
}

function spread(
  rows: Buffer,
  { width, height, channels }: { width: number; height: number; channels: number },
): Uint8Array {
  const rgba = new Uint8Array(width * height * 4);
  const isGrey = channels < 3;
  const hasAlpha = channels === 2 || channels === 4;
  let to = 0;
  for (let y = 0; y < height; y += 1) {
    let from = y * (width * channels + 1) + 1;
    for (let x = 0; x < width; x += 1) {
      rgba[to] = rows[from]!;
      rgba[to + 1] = rows[isGrey ? from : from + 1]!;
      rgba[to + 2] = rows[isGrey ? from : from + 2]!;
      rgba[to + 3] = hasAlpha ? rows[from + channels - 1]! : 255;
      from += channels;
      to += 4;
    }
  }
  return rgba;
}
