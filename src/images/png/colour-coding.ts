/** Palettes and few bits of grey, by which a PNG codes its colours (ISO 15948). */
import { type PngChunk, pngChunk } from './chunks.ts';

const MAX_COLOURS = 256;

/** The encoding of an image's colours: bits per pixel (1, 2, 4 or 8), the sample of each colour, PLTE and tRNS. */
interface Coding {
  readonly depth: number;
  readonly values: Uint8Array;
  readonly pixels: readonly PngChunk[];
}

/** Fewer bits of grey if they represent its levels exactly (13.12). */
export function asGrey(colours: readonly number[]): Coding {
  const levels = colours.map((colour) => colour >>> 24);
  const depth =
    [1, 2, 4].find((bits) => levels.every((level) => level % greyStep(bits) === 0)) ?? 8;
  return { depth, values: Uint8Array.from(levels, (level) => level / greyStep(depth)), pixels: [] };
}

const greyStep = (depth: number): number => 255 / (2 ** depth - 1);

export function asPalette(colours: readonly number[]): Coding {
  const opacity = (colour: number) => colour & 0xff;
  // The least opaque first: tRNS may omit opaque colours at its end (11.3.1.1).
  const order = [...colours.keys()].sort((a, b) => opacity(colours[a]!) - opacity(colours[b]!));
  const values = new Uint8Array(colours.length);
  for (const [place, index] of order.entries()) values[index] = place;
  const sorted = order.map((index) => colours[index]!);
  const palette = Buffer.from(
    sorted.flatMap((it) => [it >>> 24, (it >>> 16) & 255, (it >>> 8) & 255]),
  );
  const transparency = Buffer.from(sorted.map(opacity).filter((alpha) => alpha < 255));
  return {
    depth: [1, 2, 4].find((bits) => colours.length <= 2 ** bits) ?? 8,
    values,
    pixels: [
      pngChunk('PLTE', palette),
      ...(transparency.length > 0 ? [pngChunk('tRNS', transparency)] : []),
    ],
  };
}

/** Rows of samples, the leftmost in the high bits (7.2). */
export function packSamples(
  pixels: Uint8Array,
  values: Uint8Array,
  { width, depth }: { readonly width: number; readonly depth: number },
): Uint8Array {
  const perByte = 8 / depth;
  const stride = Math.ceil(width / perByte);
  const height = pixels.length / width;
  const packed = new Uint8Array(stride * height);
  for (let y = 0, from = 0; y < height; y += 1) {
    const row = y * stride;
    for (let x = 0; x < width; x += 1, from += 1) {
      const shift = 8 - depth - (x % perByte) * depth;
      packed[row + Math.floor(x / perByte)]! |= values[pixels[from]!]! << shift;
    }
  }
  return packed;
}

/** Distinct colours in the order of their first pixel. A Map would take three times as long. */
export class Colours {
  readonly list: number[] = [];
  /** A hash table with linear probing: an index into `list` plus one, or 0. */
  readonly #slots = new Uint16Array(4 * MAX_COLOURS);

  /** Index of a colour; MAX_COLOURS if there are that many others already. */
  indexOf(colour: number): number {
    for (
      let slot = Math.imul(colour, 0x9e3779b1) >>> 22;
      ;
      slot = (slot + 1) % this.#slots.length
    ) {
      const found = this.#slots[slot]! - 1;
      if (found < 0) {
        if (this.list.length < MAX_COLOURS) this.#slots[slot] = this.list.push(colour);
        else return MAX_COLOURS;
        return this.list.length - 1;
      }
      if (this.list[found] === colour) return found;
    }
  }
}

/** Indices of the colours of samples of eight bits, which are added to others; null above 256 colours. */
export function indexSamples(
  samples: Uint8Array,
  channels: number,
  colours: Colours,
): Uint8Array | null {
  const indices = new Uint8Array(samples.length / channels);
  const hasAlpha = channels === 2 || channels === 4;
  let last = -1;
  let index = 0;
  for (let pixel = 0, at = 0; pixel < indices.length; pixel += 1, at += channels) {
    const red = samples[at]!;
    const green = channels < 3 ? red : samples[at + 1]!;
    const blue = channels < 3 ? red : samples[at + 2]!;
    const alpha = hasAlpha ? samples[at + channels - 1]! : 255;
    const colour = ((red << 24) | (green << 16) | (blue << 8) | alpha) >>> 0;
    if (colour !== last) index = colours.indexOf(colour);
    if (index === MAX_COLOURS) return null;
    last = colour;
    indices[pixel] = index;
  }
  return indices;
}
