/**
 * Lossless reduction of the size of a PNG. libvips writes eight bits per channel even if the input had a
 * palette or a few bits of grey, and it quantises the palettes that it makes.
 */
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createInflate, deflate } from 'node:zlib';
import type { Header } from '../decoding/header.ts';
import { needsProfile } from '../decoding/stored.ts';
import type { ImageInput } from '../input.ts';
import { type PngChunk, pngChunk, pngChunks, pngLength, pngOf } from '../png/chunks.ts';
import { asGrey, asPalette, Colours, indexSamples, packSamples } from '../png/colour-coding.ts';
import { filterRows } from '../png/filters.ts';
import { hasDensity } from '../png/png.ts';

/** Chunks of the pixels; all others are metadata. */
const PIXEL_CHUNKS = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT']);

/** Colour types (11.2.2) that can be reduced, and their channels. */
const GREY = 0;
const INDEXED = 3;
const CHANNELS: Readonly<Record<number, number>> = { [GREY]: 1, 2: 3, 6: 4 };

/** Bytes that are inflated at once. */
const CHUNK_BYTES = 64 * 1024;

interface SmallestOptions {
  readonly input: ImageInput;
  /** Compression level of zlib, 0 to 9. */
  readonly level: number;
  /** Whether the output differs from the input at most in colours and orientation. */
  readonly unchanged: boolean;
  /** Whether the output has the colour profile of the input, to which its samples belong. */
  readonly profiled: boolean;
}

/**
 * The smallest of three PNGs with the same pixels: the encoded one, the same with a palette or fewer bits
 * of grey if its colours allow that, and the same with the pixel chunks of the input.
 */
export async function smallestPng(
  encoded: Uint8Array,
  header: Header,
  { input, level, unchanged, profiled }: SmallestOptions,
): Promise<Uint8Array> {
  const original = header.format === 'png' ? [...pngChunks(input.bytes)] : null;
  // libvips adds a density if the input has none.
  const density = original ? hasDensity(input.bytes) : header.metadata.density !== undefined;
  const chunks = [...pngChunks(encoded)].filter(({ name }) => density || name !== 'pHYs');
  let smallest = smaller(chunks, await reduced(chunks, level));
  const isSame = unchanged && !header.oriented;
  // Colours with a profile are converted, so that the pixels differ unless it is sRGB.
  if (original && isSame && (profiled || !(await needsProfile(input, header)))) {
    const kept = withOriginalPixels(chunks, original);
    if (smaller(smallest, kept) === kept) {
      // Node's zlib may reject a stream that libpng accepts.
      smallest = await withoutTrailer(kept).catch(() => smallest);
    }
  }
  return pngLength(smallest) < encoded.length ? pngOf(smallest) : encoded;
}

function smaller(one: readonly PngChunk[], other: readonly PngChunk[] | null): readonly PngChunk[] {
  return other && pngLength(other) < pngLength(one) ? other : one;
}

/** The fields of IHDR (ISO 15948, 11.2.2). */
function readImageHeader([header]: readonly PngChunk[]) {
  const { data } = header!;
  return {
    width: data.readUInt32BE(0),
    height: data.readUInt32BE(4),
    depth: data.readUInt8(8),
    colourType: data.readUInt8(9),
    interlaced: data.readUInt8(12) !== 0,
  };
}

/** A PNG's chunks with the pixels of another, in the order of the standard (5.6). */
export function withPixels(chunks: readonly PngChunk[], pixels: readonly PngChunk[]): PngChunk[] {
  const [header, ...others] = pixels;
  const at = chunks.findIndex(({ name }) => name === 'IDAT');
  const metadata = (part: readonly PngChunk[]) =>
    part.filter(({ name }) => !PIXEL_CHUNKS.has(name));
  return [header!, ...metadata(chunks.slice(0, at)), ...others, ...metadata(chunks.slice(at))];
}

/** The order of pixel chunks that all decoders accept (5.6). */
const ORDER = /^IHDR (PLTE )?(tRNS )?(IDAT )+$/;

/** The encoded PNG with the pixel chunks of the original; null if only the encoded one is interlaced. */
function withOriginalPixels(
  encoded: readonly PngChunk[],
  original: readonly PngChunk[],
): PngChunk[] | null {
  if (readImageHeader(encoded).interlaced && !readImageHeader(original).interlaced) return null;
  const pixels = original.filter(({ name }) => PIXEL_CHUNKS.has(name));
  const order = pixels.map(({ name }) => `${name} `).join('');
  return ORDER.test(order) ? withPixels(encoded, pixels) : null;
}

/** The chunks without bytes after the compressed data of IDAT, which decoders ignore. */
async function withoutTrailer(chunks: readonly PngChunk[]): Promise<PngChunk[]> {
  const data = Buffer.concat(imageData(chunks));
  const inflated = createInflate({ chunkSize: 4 * CHUNK_BYTES });
  inflated.end(data);
  for await (const _ of inflated);
  const whole = data.subarray(0, inflated.bytesWritten);
  const [header, ...pixels] = chunks.filter(
    ({ name }) => name === 'IHDR' || name === 'PLTE' || name === 'tRNS',
  );
  return withPixels(chunks, [header!, ...pixels, pngChunk('IDAT', whole)]);
}

function imageData(chunks: readonly PngChunk[]): Buffer[] {
  return chunks.filter(({ name }) => name === 'IDAT').map(({ data }) => data);
}

/** The image with a palette or fewer bits; null if it needs all of its bits. */
async function reduced(chunks: readonly PngChunk[], level: number): Promise<PngChunk[] | null> {
  const header = readImageHeader(chunks);
  const indexed = await indexPixels(chunks);
  if (!indexed) return null;
  const grey = header.colourType === GREY;
  const { depth, values, pixels } = grey ? asGrey(indexed.colours) : asPalette(indexed.colours);
  if (grey && depth === 8) return null;
  const data = Buffer.from(chunks[0]!.data);
  data[8] = depth;
  data[9] = grey ? GREY : INDEXED;
  const { width, height } = header;
  const rows = packSamples(indexed.pixels, values, { width, depth });
  const packed = filterRows(rows, rows.length / height, 1, 0);
  const deflated = await promisify(deflate)(packed, { level, memLevel: 9 });
  return withPixels(chunks, [pngChunk('IHDR', data), ...pixels, pngChunk('IDAT', deflated)]);
}

/** Indexes the colours of an image; null above 256 colours, which ends the inflation of a photograph early. */
async function indexPixels(chunks: readonly PngChunk[]) {
  const { width, height, depth, colourType, interlaced } = readImageHeader(chunks);
  const channels = CHANNELS[colourType];
  if (channels === undefined || depth !== 8 || interlaced) return null;
  const colours = new Colours();
  const row = Buffer.allocUnsafe(1 + width * channels);
  let pixels: Uint8Array | undefined;
  let filled = 0;
  let y = 0;
  const inflated = Readable.from(imageData(chunks)).pipe(createInflate({ chunkSize: CHUNK_BYTES }));
  for await (const piece of inflated as AsyncIterable<Buffer>) {
    for (let at = 0; at < piece.length; ) {
      const copied = piece.copy(row, filled, at);
      at += copied;
      filled += copied;
      if (filled < row.length) continue;
      filled = 0;
      // The encoder uses no filter.
      if (row[0] !== 0) return null;
      const indices = indexSamples(row.subarray(1), channels, colours);
      if (!indices) return null;
      pixels ??= new Uint8Array(width * height);
      pixels.set(indices, y * width);
      y += 1;
    }
  }
  return pixels && y === height ? { colours: colours.list, pixels } : null;
}
