import type { Pixels } from '../decoding/pixels.ts';
import { type PngChunk, pngChunk } from '../png/chunks.ts';
import { asGrey, asPalette, Colours, MAX_COLOURS, packSamples } from '../png/colour-coding.ts';

/** The image data of a PNG before filtering and compression, and the chunks before it. */
export interface Raster {
  readonly header: PngChunk;
  /** PLTE and tRNS, where there are any. */
  readonly palette: readonly PngChunk[];
  readonly rows: Uint8Array;
  /** Bytes of a row. */
  readonly stride: number;
  /** Bytes of a pixel, at least 1. */
  readonly unit: number;
  /** Whether neighbouring samples have similar values, so that filters help. */
  readonly smooth: boolean;
}

/** Colour types (ISO 15948, 11.2.2) by the number of channels. */
const COLOUR_TYPES = [0, 0, 4, 2, 6] as const;
const INDEXED = 3;

/**
 * All exact forms of some pixels that may be the smallest: without opaque alpha, colour of grey pixels and bits that
 * repeat others, and with a palette or few bits of grey.
 *
 * @param mayBeGrey whether colour may be removed, which a profile of colours does not allow
 */
export function rastersOf(
  pixels: Pixels,
  { mayBeGrey }: { readonly mayBeGrey: boolean },
): Raster[] {
  const samples = inEightBits(pixels.data);
  const { width, height, channels } = pixels;
  const size = { width, height };
  if (samples === null) {
    const kept = keptChannels(pixels.data, channels, 0xffff, mayBeGrey);
    const bytes = bigEndian(selectChannels(pixels.data, channels, kept));
    return [raster(size, { depth: 16, colourType: COLOUR_TYPES[kept.length]!, rows: bytes })];
  }
  const kept = keptChannels(samples, channels, 0xff, mayBeGrey);
  const direct = selectChannels(samples, channels, kept);
  const rasters = [
    raster(size, { depth: 8, colourType: COLOUR_TYPES[kept.length]!, rows: direct }),
  ];
  const indexed = indexSamples(direct, kept.length);
  if (!indexed) return rasters;
  const { colours, indices } = indexed;
  if (kept.length === 1) {
    const { depth, values } = asGrey(colours);
    if (depth < 8) {
      const rows = packSamples(indices, values, { width, depth });
      return [raster(size, { depth, colourType: 0, rows })];
    }
  }
  const { depth, values, pixels: palette } = asPalette(colours);
  const rows = packSamples(indices, values, { width, depth });
  rasters.push(raster(size, { depth, colourType: INDEXED, rows, palette }));
  return rasters;
}

function raster(
  { width, height }: { readonly width: number; readonly height: number },
  {
    depth,
    colourType,
    rows,
    palette = [],
  }: {
    readonly depth: number;
    readonly colourType: number;
    readonly rows: Uint8Array;
    readonly palette?: readonly PngChunk[];
  },
): Raster {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data[8] = depth;
  data[9] = colourType;
  const stride = rows.length / height;
  return {
    header: pngChunk('IHDR', data),
    palette,
    rows,
    stride,
    unit: Math.max(1, Math.floor(stride / width)),
    smooth: colourType !== INDEXED && depth >= 8,
  };
}

/** Samples of eight bits where they have the same values; null where sixteen are needed. */
function inEightBits(data: Pixels['data']): Uint8Array | null {
  if (data instanceof Uint8Array) return data;
  const samples = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 1) {
    const high = data[at]! >>> 8;
    if (data[at] !== high * 257) return null;
    samples[at] = high;
  }
  return samples;
}

/** Indices of the channels that are needed. */
function keptChannels(
  data: Pixels['data'],
  channels: number,
  opaque: number,
  mayBeGrey: boolean,
): number[] {
  const colours = channels < 3 ? 1 : 3;
  let grey = colours === 3 && mayBeGrey;
  let hasAlpha = false;
  for (
    let at = 0;
    at < data.length && (grey || (colours < channels && !hasAlpha));
    at += channels
  ) {
    if (grey && (data[at] !== data[at + 1] || data[at] !== data[at + 2])) grey = false;
    if (colours < channels && data[at + colours] !== opaque) hasAlpha = true;
  }
  const kept = grey || colours === 1 ? [0] : [0, 1, 2];
  return hasAlpha ? [...kept, colours] : kept;
}

function selectChannels<Data extends Pixels['data']>(
  data: Data,
  channels: number,
  kept: readonly number[],
): Data {
  if (kept.length === channels) return data;
  const length = (data.length / channels) * kept.length;
  const selected = (
    data instanceof Uint16Array ? new Uint16Array(length) : new Uint8Array(length)
  ) as Data;
  for (let from = 0, to = 0; from < data.length; from += channels) {
    for (const channel of kept) {
      selected[to] = data[from + channel]!;
      to += 1;
    }
  }
  return selected;
}

function bigEndian(data: Pixels['data']): Uint8Array {
  const bytes = new Uint8Array(data.length * 2);
  for (let at = 0; at < data.length; at += 1) {
    bytes[at * 2] = data[at]! >>> 8;
    bytes[at * 2 + 1] = data[at]! & 0xff;
  }
  return bytes;
}

/** The colours of samples of eight bits; null above 256. */
function indexSamples(data: Uint8Array, channels: number) {
  const colours = new Colours();
  const indices = new Uint8Array(data.length / channels);
  const hasAlpha = channels === 2 || channels === 4;
  for (let at = 0, pixel = 0; at < data.length; at += channels, pixel += 1) {
    const red = data[at]!;
    const green = channels < 3 ? red : data[at + 1]!;
    const blue = channels < 3 ? red : data[at + 2]!;
    const alpha = hasAlpha ? data[at + channels - 1]! : 255;
    const index = colours.indexOf(((red << 24) | (green << 16) | (blue << 8) | alpha) >>> 0);
    if (index === MAX_COLOURS) return null;
    indices[pixel] = index;
  }
  return { colours: colours.list, indices };
}
