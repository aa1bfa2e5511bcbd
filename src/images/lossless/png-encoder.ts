import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';
import type { Size } from '../decoding/header.ts';
import type { Pixels } from '../decoding/pixels.ts';
import { withPixels } from '../encoding/png-size.ts';
import { type PngChunk, pngChunk, pngChunks, pngLength, pngOf } from '../png/chunks.ts';
import { type FilterStrategy, filterRows } from '../png/filters.ts';
import { type Raster, rastersOf } from './png-raster.ts';

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
function mostBytes({ width, height }: Size): number {
  return width * height * 8 + 7 * (height + width);
}

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
