import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';
import type { Size } from '../decoding/header.ts';
import type { Pixels } from '../decoding/pixels.ts';
import { withPixels } from '../encoding/png-size.ts';
import { type PngChunk, pngChunk, pngChunks, pngLength, pngOf } from '../png/chunks.ts';
import { asGrey, asPalette, Colours, indexSamples, packSamples } from '../png/colour-coding.ts';
import { type FilterStrategy, filterRows } from '../png/filters.ts';

const compress = promisify(deflate);

/** Bytes of rows up to which all strategies are tried. */
const ALL_STRATEGIES_BYTES = 16 * 1024 * 1024;
const STRATEGIES: readonly FilterStrategy[] = ['adaptive', 0, 1, 2, 4];
const FEW_STRATEGIES: readonly FilterStrategy[] = ['adaptive', 0];
/** The level by which strategies are compared: their order is that of the last level nearly always. */
const TRIAL_LEVEL = 2;

/**
 * The smallest PNG of some pixels that was found: exact forms of the pixels, filters and levels are tried.
 *
 * @param chunks of a PNG, whose metadata it gets
 * @param level of zlib, 0 to 9
 */
export async function smallestPngOf(
  pixels: Pixels,
  chunks: readonly PngChunk[],
  level: number,
): Promise<Uint8Array> {
  // A profile of colours does not describe grey pixels.
  const mayBeGrey = !chunks.some(({ name }) => name === 'iCCP');
  let smallest:
    | { readonly raster: Raster; readonly filtered: Uint8Array; size: number }
    | undefined;
  for (const raster of rastersOf(pixels, { mayBeGrey })) {
    const few = raster.rows.length > ALL_STRATEGIES_BYTES;
    for (const strategy of raster.smooth && !few ? STRATEGIES : FEW_STRATEGIES) {
      const filtered = filterRows(raster.rows, raster.stride, raster.unit, strategy);
      const { length } = await compress(filtered, { level: TRIAL_LEVEL, memLevel: 9 });
      const size = length + pngLength(raster.palette);
      if (!smallest || size < smallest.size) smallest = { raster, filtered, size };
    }
  }
  const { raster, filtered } = smallest!;
  const found: Uint8Array[] = [];
  for (const strategy of [constants.Z_DEFAULT_STRATEGY, constants.Z_FILTERED]) {
    found.push(await compress(filtered, { level, memLevel: 9, strategy }));
  }
  const [one, other] = found as [Uint8Array, Uint8Array];
  const data = pngChunk('IDAT', other.length < one.length ? other : one);
  return pngOf(withPixels(chunks, [raster.header, ...raster.palette, data]));
}

/** Most bytes of the rows of a frame: pixels of 16 bits in four channels, and the filter types of seven passes. */
const mostBytes = ({ width, height }: Size): number => width * height * 8 + 7 * (height + width);

/**
 * An animated PNG (APNG) whose frames are compressed again at the highest level, with the same filters. The decoder
 * does not read its frames; their data is exact in any case.
 *
 * @param keep whether a chunk of metadata stays
 */
export async function recompressedApng(
  bytes: Uint8Array,
  size: Size,
  keep: (chunk: PngChunk) => boolean,
): Promise<Uint8Array> {
  const result: PngChunk[] = [];
  let data: Buffer[] = [];
  let name = '';
  let sequence = 0;
  const numbered = (chunkName: string, rest: Uint8Array) => {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence);
    sequence += 1;
    return pngChunk(chunkName, Buffer.concat([number, rest]));
  };
  const flush = async () => {
    if (data.length === 0) return;
    const whole = Buffer.concat(data);
    // Damaged frames stay as they are: no decoder here reads them.
    const again = await promisify(inflate)(whole, { maxOutputLength: mostBytes(size) })
      .then((inflated) => compress(inflated, { level: 9, memLevel: 9 }))
      .catch(() => whole);
    const smaller = again.length < whole.length ? again : whole;
    result.push(name === 'IDAT' ? pngChunk('IDAT', smaller) : numbered('fdAT', smaller));
    data = [];
  };
  for (const chunk of pngChunks(bytes)) {
    if (chunk.name === 'IDAT' || chunk.name === 'fdAT') {
      name = chunk.name;
      data.push(name === 'IDAT' ? chunk.data : chunk.data.subarray(4));
      continue;
    }
    await flush();
    if (chunk.name === 'fcTL') result.push(numbered('fcTL', chunk.data.subarray(4)));
    else if (keep(chunk)) result.push(chunk);
  }
  return pngOf(result);
}

/** The image data of a PNG before filtering and compression, and the chunks before it. */
export type Raster = Readonly<ReturnType<typeof raster>>;

/** Colour types (ISO 15948, 11.2.2) by the number of channels. */
const COLOUR_TYPES = [0, 0, 4, 2, 6] as const;
const INDEXED = 3;

/**
 * All exact forms of some pixels that may be the smallest: without opaque alpha, colour of grey pixels and bits that
 * repeat others, and with a palette or few bits of grey.
 *
 * @param mayBeGrey whether colour may be removed, which a profile of colours does not allow
 */
function rastersOf(pixels: Pixels, { mayBeGrey }: { readonly mayBeGrey: boolean }): Raster[] {
  const samples = inEightBits(pixels.data);
  const { width, height, channels } = pixels;
  const size = { width, height };
  if (samples === null) {
    const kept = keptChannels(pixels.data, channels, 0xffff, mayBeGrey);
    const bytes = bigEndian(selectChannels(pixels.data, channels, kept));
    return [raster(size, bytes, 16, COLOUR_TYPES[kept.length]!)];
  }
  const kept = keptChannels(samples, channels, 0xff, mayBeGrey);
  const direct = selectChannels(samples, channels, kept);
  const rasters = [raster(size, direct, 8, COLOUR_TYPES[kept.length]!)];
  const colours = new Colours();
  const indices = indexSamples(direct, kept.length, colours);
  if (!indices) return rasters;
  if (kept.length === 1) {
    const { depth, values } = asGrey(colours.list);
    if (depth < 8) {
      const rows = packSamples(indices, values, { width, depth });
      return [raster(size, rows, depth, 0)];
    }
  }
  const { depth, values, pixels: palette } = asPalette(colours.list);
  const rows = packSamples(indices, values, { width, depth });
  rasters.push(raster(size, rows, depth, INDEXED, palette));
  return rasters;
}

function raster(
  { width, height }: Size,
  rows: Uint8Array,
  depth: number,
  colourType: number,
  palette: readonly PngChunk[] = [],
) {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data[8] = depth;
  data[9] = colourType;
  const stride = rows.length / height;
  return {
    header: pngChunk('IHDR', data),
    /** PLTE and tRNS, where there are any. */
    palette,
    rows,
    /** Bytes of a row. */
    stride,
    /** Bytes of a pixel, at least 1. */
    unit: Math.max(1, Math.floor(stride / width)),
    /** Whether neighbouring samples have similar values, so that filters help. */
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
  for (let at = 0; at < data.length; at += channels) {
    if (!grey && (colours === channels || hasAlpha)) break;
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
