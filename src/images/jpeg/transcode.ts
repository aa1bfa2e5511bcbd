import { orientationOf } from '../exif/exif.ts';
import { fileFailure } from '../file-error.ts';
import { forPixels, type ImageInput } from '../input.ts';
import type { MetadataPolicy } from '../output.ts';
import { decodeJpeg } from './decode.ts';
import { encodeJpeg } from './encode.ts';
import type { Frame } from './frame.ts';
import { exifOf, keptSegments, uprightSegments } from './metadata.ts';
import { correctPictures } from './pictures.ts';
import { impossible, splitJpeg } from './segments.ts';
import {
  compose,
  isIdentity,
  mcuSize,
  type Transform,
  transformFrame,
  trimFrame,
  uprightTransform,
} from './transform.ts';

export interface TranscodeOptions {
  /**
   * A change of orientation after the one that EXIF asks for, upon which the picture is upright. Without it, the
   * picture and its orientation stay.
   */
  readonly transform?: Transform;
  /** Cuts off partial blocks that cannot be moved to the left or the top, instead of failing. */
  readonly trim?: boolean;
  /** Whether scans are progressive; by default the smaller is taken. */
  readonly progressive?: boolean | 'auto';
  /** `none` and `icc` are the same: the colour profile, the marks of colour spaces and the orientation stay. */
  readonly metadata: MetadataPolicy;
}

/**
 * Encodes a JPEG anew from its quantised coefficients, with the best Huffman tables: decoded pixels stay the same. On
 * average, 12 megapixels take a second.
 *
 * @returns the bytes, with width and height as stored; `lostTrailer` where data after the picture, such as gain maps and
 *   data of editors, are not in the result
 * @throws Failure lossless_impossible for arithmetic-coded, hierarchical and other rare files, and for partial blocks
 *   that would have to move; corrupt_image; timeout
 */
export function transcodeJpeg(
  input: Pick<ImageInput, 'bytes' | 'limits' | 'admit'>,
  { transform, trim = false, progressive = 'auto', metadata }: TranscodeOptions,
) {
  const { bytes, limits } = input;
  const started = performance.now();
  const check = () => {
    if (performance.now() - started > limits.deadline)
      throw fileFailure('timeout', `not done within ${limits.deadline / 1000} s`);
  };
  const file = splitJpeg(bytes);
  const admit = (pixels: number, memory: number) => {
    const { milliseconds } = forPixels(pixels, 0, MICROSECONDS);
    input.admit({ milliseconds, bytes: (transform ? 2 : 1) * memory + 2 * bytes.length });
  };
  const decoded = decodeJpeg(file, { pixels: limits.pixels, admit, check });
  const { frame, trailer } = decoded;
  const stored = [...file.segments, ...decoded.metadata];
  const orientation = orientationOf(exifOf(stored));
  const change = transform && compose(uprightTransform(orientation), transform);
  const segments = keptSegments(stored, metadata, change ? 1 : orientation);
  if (!change || isIdentity(change)) {
    const encoded = encodeJpeg(frame, segments, progressive, check);
    const keepsTrailer = metadata === 'all' && trailer.length > 0;
    const whole = keepsTrailer ? Buffer.concat([encoded.bytes, trailer]) : encoded.bytes;
    if (keepsTrailer) correctPictures(bytes, whole, trailer.length);
    const lostTrailer = trailer.length > 0 && !keepsTrailer;
    return { ...encoded, ...sizeOf(frame), bytes: whole, lostTrailer };
  }
  const trimmed = trimFrame(frame, change);
  if (!trim && (trimmed.width < frame.width || trimmed.height < frame.height))
    throw partialBlocks(frame, trimmed);
  const changed = transformFrame(trimmed, change);
  const { width, height } = changed;
  const upright = uprightSegments(segments, { width, height, transposed: change.transpose });
  const encoded = encodeJpeg(changed, upright, progressive, check);
  return { ...encoded, ...sizeOf(changed), lostTrailer: trailer.length > 0 };
}

/** CPU microseconds for a pixel, measured. */
const MICROSECONDS = 0.15;

const sizeOf = ({ width, height }: Frame) => ({ width, height });

function partialBlocks(frame: Frame, trimmed: Frame) {
  const block = mcuSize(frame);
  const sides = [
    trimmed.width < frame.width && `its width to ${trimmed.width}`,
    trimmed.height < frame.height && `its height to ${trimmed.height}`,
  ].filter(Boolean);
  return impossible(
    `${frame.width}x${frame.height} is not whole blocks of ${block.width}x${block.height}, which cannot be ` +
      `turned this way without loss; lossless trim cuts ${sides.join(' and ')}`,
  );
}
