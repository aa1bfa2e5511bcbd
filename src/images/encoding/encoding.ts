import { isGrey, onWhite, parseColour } from '../colour.ts';
import type { Facts, Header, Size } from '../decoding/header.ts';
import { type TiffMetadata, tiffWithMetadata } from '../exif/copy.ts';
import { fileFailure } from '../file-error.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from '../formats.ts';
import type { Estimate, ImageInput, Sharp } from '../input.ts';
import { MAX_EXIF_BYTES } from '../jpeg/metadata.ts';
import { jpegWithPhotoshop, photoshopOf } from '../metadata/iptc.ts';
import { attachExif, keepMetadata, withCopyright } from '../metadata/policy.ts';
import type { EncodingResult } from '../output.ts';
import { encodeJxl } from '../programs/decode.ts';
import { effortFor, ignoredSettings, isQuantised, timingOf, writeAs } from './encoders.ts';
import { type EncodingWork, estimateEncoding, estimateSearch } from './estimate.ts';
import { type EncodingOptions, isSearched } from './options.ts';
import { smallestPng } from './png-size.ts';
import type { Conversion } from './profile.ts';

/** The output format of an operation that keeps the format: the input's, or png if it cannot be written. */
export function sameFormat(header: Header): OutputFormat {
  const own = OUTPUT_FORMATS.find((candidate) => candidate === header.format);
  return own ?? 'png';
}

/** Refuses an output of too many pixels for its format, for viewers and for the memory of callers. */
export function checkOutputSize(
  input: ImageInput,
  to: OutputFormat,
  size: Size & Pick<Facts, 'frames'>,
): void {
  const { side } = FORMATS[to];
  const most = Math.min(side, input.limits.side);
  if (Math.max(size.width, size.height) > most) {
    const place = side < input.limits.side ? ` of ${to.toUpperCase()}` : '';
    const message = `the output would be ${size.width}x${size.height}, more than ${most} pixels along a side${place}`;
    throw fileFailure('output_too_large', message);
  }
  checkPixelCount(input, size);
}

/** Refuses the result of a step that has too many pixels. */
export function checkPixelCount(
  { limits }: ImageInput,
  { width, height, frames }: Size & Pick<Facts, 'frames'>,
): void {
  const most = limits.pixels * 4;
  if (width * height * frames <= most) return;
  const size = `${width}x${height}${frames > 1 ? ` in ${frames} frames` : ''}`;
  const message = `the output would be ${size}, more than ${most / 1e6} megapixels`;
  throw fileFailure('output_too_large', message);
}

/** Parameters of an encoding beyond the user's options. */
export interface EncodingTarget {
  readonly to: OutputFormat;
  /** Properties of the pixels that are encoded. */
  readonly facts: Facts;
  /** Whether the pipeline does not change the pixels. */
  readonly unchanged: boolean;
  /** Whether lossless WebP keeps colours below full transparency too. */
  readonly exact?: boolean;
  /** Converts the colours at last, which are still those of another profile. */
  readonly conversion?: Pick<Conversion, 'path' | 'inks'> | undefined;
}

/**
 * Estimates the decoding of an image and the encoding of an output of it.
 *
 * @param held bytes per pixel of the input that the steps between buffer
 */
export function estimateOutput(
  input: ImageInput,
  header: Header,
  { to, facts, held }: Pick<EncodingTarget, 'to' | 'facts'> & Pick<EncodingWork, 'held'>,
  options: EncodingOptions,
): Estimate {
  const { nearLossless, progressive } = options;
  const lossless = options.lossless || nearLossless;
  const effort = effortFor(to, options);
  const fileBytes = input.file.byteLength;
  const quantised = isQuantised(to, options);
  const work = { to, effort, lossless, quantised, progressive, facts, held, fileBytes };
  return isSearched(options) ? estimateSearch(header, work) : estimateEncoding(header, work);
}

/**
 * Encodes the pixels of a pipeline: colours become sRGB, transparency is flattened onto the background
 * if the format has none, sixteen bits and greyscale are kept if the format can hold them.
 *
 * @param header that of the input
 */
export async function encode(
  input: ImageInput,
  header: Header,
  image: Sharp,
  { to, facts, unchanged, exact = false, conversion }: EncodingTarget,
  options: EncodingOptions,
): Promise<EncodingResult> {
  const traits = FORMATS[to];
  const background = parseColour(options.background);
  const holdsAlpha = traits.alpha && !conversion?.inks;
  let pipeline = holdsAlpha ? image : image.flatten({ background: onWhite(background) });
  const quantised = isQuantised(to, options);
  const deep = header.deep && traits.deep && !quantised;
  const isGreyThroughout = facts.grey && isGrey(background);
  const grey = isGreyThroughout && !quantised;
  // sharp converts the background to the input's colours: to luminance in grey, and in sixteen bits
  // white becomes 255 x 256, which eight bits would round to less than white.
  if (deep !== header.deep || (header.grey && !grey)) {
    // Grey stays grey, because its profile must fit.
    const staysGrey = header.grey && isGreyThroughout;
    pipeline = pipeline.pipelineColourspace(deep ? 'rgb16' : staysGrey ? 'b-w' : 'srgb');
  }
  const policy = traits.metadata ? options.metadata : 'none';
  pipeline = await keepMetadata(input, pipeline, header, policy, {
    grey: grey && traits.grey,
    desaturated: facts.grey && !header.grey,
    frames: facts.frames,
    converted: conversion !== undefined,
  });
  const toOutputColours = (sharp: Sharp) => {
    if (grey && traits.grey) return sharp.toColourspace(deep ? 'grey16' : 'b-w');
    return deep ? sharp.toColourspace('rgb16') : sharp;
  };
  pipeline = toOutputColours(pipeline);
  // libvips 8.18 neither reads EXIF from TIFF files nor writes it to them; in other formats, libexif writes what a
  // segment of JPEG holds.
  const exif = policy === 'all' ? header.exif : null;
  const tooLong = exif !== null && to !== 'tiff' && exif.length > MAX_EXIF_BYTES;
  if (exif && header.format === 'tiff' && to !== 'tiff' && !tooLong) {
    pipeline = toOutputColours(await attachExif(input, pipeline, exif));
  }
  if (conversion) pipeline = pipeline.withIccProfile(conversion.path);
  const { timing, warnings } = timingOf(header, facts.frames);
  if (tooLong) {
    const message = `EXIF of ${exif.length} bytes was left out: ${MAX_EXIF_BYTES} can be written`;
    warnings.push({ code: 'exif_lost', message });
  }
  if (policy === 'all' && header.metadata.iptc && to !== 'jpeg' && to !== 'tiff') {
    const message = `${to.toUpperCase()} has no place for IPTC, which was left out`;
    warnings.push({ code: 'iptc_lost', message });
  }
  const keepsProfile = (policy === 'icc' || policy === 'all') && grey && traits.grey;
  // sharp 0.35.5 applies a grey profile neither to sixteen bits nor to red, green and blue.
  const isToned = header.tone !== null && facts.frames === 1;
  const isApplied = isToned || (isGreyThroughout && !deep);
  if (header.grey && header.profiled && !keepsProfile && !isApplied && !conversion) {
    const message = 'the colour profile of greyscale was not applied';
    warnings.push({ code: 'colours_not_converted', message });
  }
  const { data, info } = await writeAs(pipeline, to, header, timing, {
    ...options,
    exact,
  }).toBuffer({
    // Not toUint8Array(): sharp 0.35.5 never frees its result (pipeline.cc, line 1468).
    resolveWithObject: true,
  });
  const bytes =
    to === 'png'
      ? await smallestPng(data, header, {
          level: effortFor(to, options),
          unchanged: unchanged && !quantised,
          profiled: policy === 'icc' || policy === 'all' || conversion !== undefined,
          input,
        })
      : to === 'jxl'
        ? await encodeJxl(input, data, { ...options, effort: effortFor(to, options) })
        : data;
  const photoshop = policy === 'all' ? photoshopOf(header.format, input.bytes) : null;
  const pages = facts.frames > 1 ? await countPages(input, data) : 1;
  const size = { width: info.width, height: info.pageHeight ?? info.height };
  const isCredited = policy === 'copyright' && to === 'webp' && facts.frames > 1;
  return {
    image: {
      bytes: isCredited
        ? withCopyright(bytes, header, size)
        : withMissing(bytes, to, { exif, photoshop }),
      format: to,
      ...size,
      ...(pages > 1 && { pages }),
    },
    warnings: [...warnings, ...ignoredSettings(to, options)],
  };
}

/** An output with metadata that libvips does not write in its format. */
function withMissing(bytes: Uint8Array, to: OutputFormat, metadata: TiffMetadata): Uint8Array {
  const { exif, photoshop } = metadata;
  if (to === 'tiff' && (exif || photoshop)) return tiffWithMetadata(bytes, metadata);
  return to === 'jpeg' && photoshop ? jpegWithPhotoshop(bytes, photoshop) : bytes;
}

/** Counts the frames of an output: encoders merge equal frames and add their delays. */
async function countPages({ sharp }: ImageInput, bytes: Uint8Array): Promise<number> {
  const { pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
  return pages;
}
