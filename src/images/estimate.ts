import { sizeText } from './byte-size.ts';
import type { Facts } from './facts.ts';
import { fileFailure } from './file-error.ts';
import type { OutputFormat } from './formats.ts';
import type { Header } from './header.ts';
import type { Estimate } from './input.ts';
import { MAX_TRIALS } from './quality-search.ts';
import type { InputFormat } from './sniff.ts';

/**
 * Bytes per pixel while an image is decoded row by row, measured with sharp 0.35.5 on 4 and 16
 * megapixels. AVIF and WebP are decoded as a whole; so are interlaced PNG and progressive JPEG files.
 */
const DECODING: Readonly<Record<InputFormat, number>> = {
  jpeg: 0.5,
  png: 1,
  tiff: 1.5,
  gif: 5,
  webp: 9,
  avif: 16,
  heic: 16,
  svg: 6,
  bmp: 7,
  ico: 7,
};

/** Microseconds of CPU per pixel. */
const DECODING_TIME: Readonly<Record<InputFormat, number>> = {
  jpeg: 0.015,
  png: 0.03,
  tiff: 0.03,
  gif: 0.03,
  webp: 0.05,
  avif: 0.06,
  heic: 0.06,
  svg: 0.03,
  bmp: 0.05,
  ico: 0.05,
};

/** Cost per pixel of an SVG filter, mask or group with opacity, which buffers the whole picture. */
const SVG_LAYER = { bytes: 26, microseconds: 0.2 };

/** Bytes for the picture of one SVG image, whatever the machine has: a file of a few lines can ask for gigabytes. */
const MAX_SVG_BYTES = 2 ** 30;

/**
 * Estimates the decoding of some frames of an image.
 *
 * @throws Failure image_too_large for an SVG image that needs too much memory
 */
export function estimateDecoding(header: Header, frames: number): Estimate {
  const { format, width, height, deep, hasAlpha, raw, tone, metadata, layers } = header;
  const depth = deep ? 2 : 1;
  const frame = (hasAlpha ? 4 : 3) * depth;
  const whole = metadata.isProgressive ? frame : 0;
  // libvips holds the frames of an animation as one tall image, and a second copy if they are changed.
  const animation = frames > 1 ? 2 * frame : 0;
  // `withTrueColours` and `withTone` write the picture as an uncompressed PNG and read it again.
  const converted = raw === null && tone === null ? 0 : 2 * frame;
  const drawn = layers * SVG_LAYER.bytes;
  const deepExtra = deep && DECODING[format] > 5 ? 1.6 : 1;
  const bytes = DECODING[format] * deepExtra + whole + animation + converted + drawn;
  const microseconds = DECODING_TIME[format] * depth + layers * SVG_LAYER.microseconds;
  const estimate = forPixels(width * height * frames, bytes, microseconds);
  if (format === 'svg' && estimate.bytes > MAX_SVG_BYTES) {
    const needed = `${width}x${height} with ${layers} filters, masks or translucent groups`;
    throw fileFailure(
      'image_too_large',
      `${needed} needs more memory than the limit of ${sizeText(MAX_SVG_BYTES)} for SVG`,
    );
  }
  return estimate;
}

/** Microseconds of CPU per pixel by effort, from 0, for photographs; noise takes three times as much. */
const AVIF_TIME = [0.1, 0.15, 0.25, 0.5, 2, 3, 5, 6, 8, 14] as const;

/** Input bytes per output pixel from which an image takes as long as a photograph. */
const PHOTOGRAPH_DENSITY = 0.1;
/** Smallest part of a photograph's time that a plain image takes. */
const MIN_DETAIL = 0.1;

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
  const encoding = forPixels(pixels, bytesOf(header, work), microsecondsOf(work) * detail);
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
};

/** Estimates the lossless optimisation of some frames. */
export function estimateLossless(header: Header, frames: number, to: OutputFormat): Estimate {
  const { width, height, deep } = header;
  const { bytes, microseconds } = CANDIDATES[to];
  return forPixels(width * height * frames, bytes * (deep ? 2 : 1), microseconds);
}

/** Bytes per pixel of the encoder and the encoded file. */
function bytesOf(
  { deep, hasAlpha }: Header,
  {
    to,
    lossless,
    progressive,
    quantised,
  }: Pick<EncodingWork, 'to' | 'lossless' | 'progressive' | 'quantised'>,
): number {
  const depth = deep ? 2 : 1;
  switch (to) {
    case 'jpeg':
      return 7;
    case 'png':
      return (progressive ? 8 : 4) * depth + (quantised ? 12 : 0);
    case 'webp':
      return lossless ? 26 : 9;
    case 'avif':
      return (deep ? 50 : 34) + (hasAlpha ? 14 : 0);
    case 'gif':
      return 15;
    case 'tiff':
      return 4 * depth;
  }
}

function microsecondsOf({ to, effort, lossless, quantised }: EncodingWork): number {
  switch (to) {
    case 'jpeg':
      return effort >= 7 ? 0.1 : 0.02;
    case 'png':
      return (effort > 6 ? 0.5 : 0.08) + (quantised ? 0.5 : 0);
    case 'webp':
      return (lossless ? 0.3 : 0.1) + effort * 0.04;
    case 'avif':
      return AVIF_TIME[effort]!;
    case 'gif':
      return 0.2 + effort * 0.15;
    case 'tiff':
      return 0.08;
  }
}

/** Estimates work that takes a number of bytes and of CPU microseconds for each pixel. */
export function forPixels(pixels: number, bytes: number, microseconds: number): Estimate {
  return { milliseconds: (pixels * microseconds) / 1000, bytes: pixels * bytes };
}
