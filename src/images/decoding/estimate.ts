import { sizeText } from '../byte-size.ts';
import { fileFailure } from '../file-error.ts';
import { type Estimate, forPixels } from '../input.ts';
import type { Header } from './header.ts';
import type { InputFormat } from './sniff.ts';

/**
 * Bytes and CPU microseconds per pixel while an image is decoded row by row, measured with sharp 0.35.5 on 4 and 16
 * megapixels. AVIF and WebP are decoded as a whole; so are interlaced PNG and progressive JPEG files.
 */
const DECODING: Readonly<Record<InputFormat, { bytes: number; microseconds: number }>> = {
  jpeg: { bytes: 0.5, microseconds: 0.015 },
  png: { bytes: 1, microseconds: 0.03 },
  tiff: { bytes: 1.5, microseconds: 0.03 },
  gif: { bytes: 5, microseconds: 0.03 },
  webp: { bytes: 9, microseconds: 0.05 },
  avif: { bytes: 16, microseconds: 0.06 },
  // Of what a program has made of them.
  heic: { bytes: 1, microseconds: 0.03 },
  jxl: { bytes: 1, microseconds: 0.03 },
  pdf: { bytes: 1, microseconds: 0.03 },
  raw: { bytes: 0.5, microseconds: 0.015 },
  svg: { bytes: 6, microseconds: 0.03 },
  bmp: { bytes: 7, microseconds: 0.05 },
  ico: { bytes: 7, microseconds: 0.05 },
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
  const usual = DECODING[format];
  const deepExtra = deep && usual.bytes > 5 ? 1.6 : 1;
  const bytes = usual.bytes * deepExtra + whole + animation + converted + drawn;
  const microseconds = usual.microseconds * depth + layers * SVG_LAYER.microseconds;
  const estimate = forPixels(width * height * frames, bytes, microseconds);
  if (format === 'svg' && estimate.bytes > MAX_SVG_BYTES) {
    const needed = `${width}x${height} with ${layers} filters, masks or translucent groups`;
    const message = `${needed} needs more memory than the limit of ${sizeText(MAX_SVG_BYTES)} for SVG`;
    throw fileFailure('image_too_large', message);
  }
  return estimate;
}
