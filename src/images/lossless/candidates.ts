import { Failure } from '../../failure.ts';
import type { Size } from '../decoding/header.ts';
import { type DecodedImage, isSameImage } from '../decoding/stored.ts';
import { MAX_DELAY_MS } from '../encoding/encoders.ts';
import type { OutputFormat } from '../formats.ts';
import { strippedGif } from '../gif.ts';
import { attachGainMap, readGainMap } from '../jpeg/gain-map.ts';
import { transcodeJpeg } from '../jpeg/transcode.ts';
import type { MetadataPolicy, Warning } from '../output.ts';
import { type PngChunk, pngChunks, pngOf } from '../png/chunks.ts';
import { packedPng } from '../programs/decode.ts';
import { recompressedApng, smallestPngOf } from './png-encoder.ts';
import { isLosslessWebp, strippedWebp } from './webp.ts';

export interface LosslessOptions {
  readonly metadata: MetadataPolicy;
  /** Whether colours differ from sRGB, or the policy keeps them. */
  readonly keepsColours: boolean;
  /** Compression level of PNG. */
  readonly level: number;
  /** Whether an installed program may take many seconds to compress a PNG. */
  readonly exhaustive: boolean;
  readonly progressive: boolean;
  readonly warn: (warning: Warning) => void;
  /** Encodes the image as another command would, without loss where its format can. */
  readonly encode: () => Promise<Uint8Array>;
}

/** A format's encodings that may have the same pixels in fewer bytes. Each is proved by decoding it. */
type Candidates = (
  source: DecodedImage,
  options: LosslessOptions,
) => Promise<readonly Uint8Array[]>;

/** Chunks of a PNG that define its colours (PNG third edition, 11.3.2). */
const COLOURS = new Set(['iCCP', 'cICP', 'sRGB', 'gAMA', 'cHRM', 'mDCV', 'cLLI']);
/** Chunks of pixels and animation. */
const PIXELS = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'acTL', 'IEND']);
/** Chunks whose content depends on colour type and bit depth, which may change. */
const OF_ONE_CODING = new Set(['sBIT', 'bKGD', 'hIST']);

async function pngCandidates({ input, header, pixels }: DecodedImage, options: LosslessOptions) {
  const { metadata, keepsColours, level, progressive } = options;
  const encoded = await options.encode();
  if (progressive) return [encoded];
  // Of these policies sharp writes the metadata: texts as EXIF, and EXIF with the new orientation.
  if (metadata === 'copyright' || (metadata === 'all' && header.oriented)) {
    return [encoded, await smallestPngOf(pixels, [...pngChunks(encoded)], level)];
  }
  const stays = ({ name }: PngChunk) =>
    metadata === 'all'
      ? !OF_ONE_CODING.has(name)
      : PIXELS.has(name) || name === 'pHYs' || (keepsColours && COLOURS.has(name));
  const chunks = [...pngChunks(input.file)].filter(stays);
  const smallest = await smallestPngOf(pixels, chunks, level);
  const packed = options.exhaustive && (await packedPng(input, smallest));
  return [encoded, packed || smallest, ...(header.oriented ? [] : [pngOf(chunks)])];
}

async function jpegCandidates(
  { input }: DecodedImage,
  { metadata, progressive, warn }: LosslessOptions,
) {
  try {
    const way = { metadata, progressive: progressive || 'auto' } as const;
    const { bytes, lostTrailer } = transcodeJpeg(input, way);
    const gainMap = lostTrailer ? readGainMap(input.bytes) : null;
    if (gainMap) return [attachGainMap(bytes, gainMap)];
    if (lostTrailer) {
      const message =
        'data after the picture, such as a gain map, was left out; metadata "all" keeps it';
      warn({ code: 'trailer_lost', message });
    }
    return [bytes];
  } catch (error) {
    // Arithmetic coding and other rare files; or damage that the decoder accepts.
    if (error instanceof Failure && error.code !== 'timeout') return [];
    throw error;
  }
}

async function webpCandidates(
  { input, header }: DecodedImage,
  { metadata, encode }: LosslessOptions,
) {
  const stripped = strippedWebp(input.file, metadata, header);
  const encoded = isLosslessWebp(input.file) ? [await encode()] : [];
  return [...(stripped ? [stripped] : []), ...encoded];
}

async function gifCandidates(
  { input, header }: DecodedImage,
  { progressive, metadata }: LosslessOptions,
) {
  const { bytes, limits, sharp } = input;
  if (metadata === 'all') return [];
  const { loop, delay } = header.metadata;
  // The encoder would shorten longer delays, which the format holds.
  if (delay?.some((milliseconds) => milliseconds > MAX_DELAY_MS)) return [strippedGif(input.file)];
  const image = sharp(bytes, { limitInputPixels: limits.pixels, pages: -1 });
  const timing = { ...(loop !== undefined && { loop }), ...(delay && { delay }) };
  const exact = {
    dither: 0,
    effort: 10,
    keepDuplicateFrames: true,
    interFrameMaxError: 0,
    interPaletteMaxError: 0,
    progressive,
  };
  const encoded = [];
  for (const reuse of [true, false]) {
    encoded.push(
      await image
        .clone()
        .gif({ ...exact, ...timing, reuse })
        .toBuffer(),
    );
  }
  return [strippedGif(input.file), ...encoded];
}

const CANDIDATES: Readonly<Record<OutputFormat, Candidates>> = {
  jpeg: jpegCandidates,
  png: pngCandidates,
  webp: webpCandidates,
  gif: gifCandidates,
  tiff: async (_, { encode }) => [await encode()],
  jxl: async (_, { encode }) => [await encode()],
  // No encoder gives the pixels of a lossy AVIF in fewer bytes.
  avif: async () => [],
};

/** The smallest encoding with the same pixels that was found; null where there is none. */
export async function smallestLossless(
  source: DecodedImage,
  format: OutputFormat,
  options: LosslessOptions,
): Promise<Uint8Array | null> {
  const candidates = await CANDIDATES[format](source, options);
  for (const bytes of candidates.toSorted((one, other) => one.length - other.length)) {
    if (await isSameImage(source, bytes)) return bytes;
  }
  return null;
}

/** An animated PNG in fewer bytes: its frames are compressed again, and metadata is removed by the policy. */
export function smallerApng(
  file: Uint8Array,
  size: Size,
  metadata: MetadataPolicy,
): Promise<Uint8Array> {
  const keep = ({ name }: PngChunk) =>
    metadata === 'all' ||
    PIXELS.has(name) ||
    COLOURS.has(name) ||
    name === 'bKGD' ||
    name === 'pHYs';
  return recompressedApng(file, size, keep);
}
