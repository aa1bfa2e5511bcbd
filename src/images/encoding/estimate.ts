import { estimateDecoding } from '../decoding/estimate.ts';
import type { Facts, Header } from '../decoding/header.ts';
import type { OutputFormat } from '../formats.ts';
import { type Estimate, forPixels } from '../input.ts';
import { jxlPixelBytes } from '../programs/decode.ts';
import { MAX_TRIALS } from './quality-search.ts';

/** Microseconds of CPU per pixel by effort, from 0, for photographs; noise takes three times as much. */
const AVIF_TIME = [0.1, 0.15, 0.25, 0.5, 2, 3, 5, 6, 8, 14] as const;

/** Input bytes per output pixel from which an image takes as long as a photograph. */
const PHOTOGRAPH_DENSITY = 0.1;
/** Smallest part of a photograph's time that a plain image takes. */
const MIN_DETAIL = 0.1;

/** Cost of an encoding per pixel: bytes of the encoder and the encoded file, and CPU microseconds. */
const ENCODING: Readonly<
  Record<
    OutputFormat,
    (work: EncodingWork, header: Header) => Record<'bytes' | 'microseconds', number>
  >
> = {
  jpeg: ({ effort }) => ({ bytes: 7, microseconds: effort >= 7 ? 0.1 : 0.02 }),
  png: ({ effort, progressive, quantised }, { deep }) => ({
    bytes: (progressive ? 8 : 4) * (deep ? 2 : 1) + (quantised ? 12 : 0),
    microseconds: (effort > 6 ? 0.5 : 0.08) + (quantised ? 0.5 : 0),
  }),
  // Beside lossy colours, transparency is compressed without loss, frame by frame: 8 bytes if plain, 14 for gradients.
  webp: ({ effort, lossless, facts: { hasAlpha, frames } }) => ({
    bytes: lossless ? 26 : 9 + (hasAlpha ? 14 / frames : 0),
    microseconds: (lossless ? 0.3 : 0.1) + effort * 0.04,
  }),
  avif: ({ effort, facts }, { deep }) => ({
    bytes: (deep ? 50 : 34) + (facts.hasAlpha ? 14 : 0),
    microseconds: AVIF_TIME[effort]!,
  }),
  gif: ({ effort }) => ({ bytes: 15, microseconds: 0.2 + effort * 0.15 }),
  tiff: (_, { deep }) => ({ bytes: deep ? 8 : 4, microseconds: 0.08 }),
  jxl: ({ effort }) => ({ bytes: jxlPixelBytes(effort), microseconds: 0.1 * effort }),
};

export interface EncodingWork {
  readonly to: OutputFormat;
  /** The encoder's own effort. */
  readonly effort: number;
  readonly lossless: boolean;
  /** Whether colours are reduced to a palette. */
  readonly quantised: boolean;
  readonly progressive: boolean;
  /** Properties of the pixels that are encoded. */
  readonly facts: Facts;
  /** Bytes per pixel of the input that rotation buffers. */
  readonly held: number;
  /** Bytes of the input file. */
  readonly fileBytes: number;
}

/** Estimates the decoding of an image and the encoding of an output of it. */
export function estimateEncoding(header: Header, work: EncodingWork): Estimate {
  const { facts, held, fileBytes } = work;
  const { frames } = facts;
  const pixels = facts.width * facts.height * frames;
  const detail = Math.min(1, Math.max(MIN_DETAIL, fileBytes / pixels / PHOTOGRAPH_DENSITY));
  const decoding = estimateDecoding(header, frames);
  const turned = header.oriented ? Math.max(held, 8) : held;
  const holding = forPixels(header.width * header.height * frames, turned, 0);
  const { bytes, microseconds } = ENCODING[work.to](work, header);
  const encoding = forPixels(pixels, bytes, microseconds * detail);
  return {
    milliseconds: decoding.milliseconds + encoding.milliseconds,
    bytes: decoding.bytes + holding.bytes + encoding.bytes,
  };
}

/** CPU microseconds per pixel to decode an encoding and measure its SSIM, and bytes per pixel of both pictures. */
const MEASURING = { bytes: 40, microseconds: 0.4 };

/** Estimates a search, which decodes an image once and encodes it several times. */
export function estimateSearch(header: Header, work: EncodingWork): Estimate {
  const { facts } = work;
  const once = estimateEncoding(header, { ...work, quantised: true });
  const decoding = estimateDecoding(header, facts.frames);
  const { bytes, microseconds } = MEASURING;
  const measuring = forPixels(facts.width * facts.height * facts.frames, bytes, microseconds);
  const each = once.milliseconds - decoding.milliseconds + measuring.milliseconds;
  return {
    milliseconds: decoding.milliseconds + MAX_TRIALS * each,
    bytes: once.bytes + measuring.bytes,
  };
}

/**
 * CPU microseconds and bytes per pixel to make a format's lossless candidates from decoded pixels, beside an encoding,
 * and to prove one.
 */
const CANDIDATES: Readonly<Record<OutputFormat, { bytes: number; microseconds: number }>> = {
  png: { bytes: 24, microseconds: 1.5 },
  gif: { bytes: 24, microseconds: 4 },
  webp: { bytes: 12, microseconds: 0.3 },
  tiff: { bytes: 12, microseconds: 0.3 },
  jpeg: { bytes: 24, microseconds: 0.5 },
  avif: { bytes: 0, microseconds: 0 },
  jxl: { bytes: 110, microseconds: 0.8 },
};

/** Estimates the lossless optimisation of some frames. */
export function estimateLossless(header: Header, frames: number, to: OutputFormat): Estimate {
  const { width, height, deep } = header;
  const { bytes, microseconds } = CANDIDATES[to];
  return forPixels(width * height * frames, bytes * (deep ? 2 : 1), microseconds);
}
