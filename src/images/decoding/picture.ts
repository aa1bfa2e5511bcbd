import { damagedImage, fileFailure } from '../file-error.ts';
import { FORMATS, type OutputFormat } from '../formats.ts';
import { isTruncatedGif } from '../gif.ts';
import type { ImageInput, Sharp, SharpOptions } from '../input.ts';
import type { MetadataPolicy, Warning } from '../output.ts';
import { estimateDecoding } from './estimate.ts';
import { checkFrames, type Header } from './header.ts';
import { mapFrames } from './pixels.ts';
import { withTone, withTrueColours } from './true-colours.ts';

/** The part of an input that is decoded for an output. */
export interface Selection {
  /** 1, or the number of frames (pages) of the input. */
  readonly frames: number;
  /** Whether pixels keep the input's colours, because the output keeps its colour profile. */
  readonly profiled: boolean;
  readonly warnings: readonly Warning[];
}

/** Options of an encoding on which the frames and their colours depend. */
interface FrameOptions {
  readonly animated: 'auto' | 'all' | 'first';
  readonly metadata: MetadataPolicy;
  readonly profile?: string | undefined;
}

function load({ bytes, limits, sharp }: ImageInput, options: SharpOptions = {}): Sharp {
  // The header was checked already; this limit is for decoders that find more pixels.
  return sharp(bytes, { limitInputPixels: limits.pixels, ...options });
}

async function pagesOfOneSize(input: ImageInput): Promise<boolean> {
  const metadata = await load(input, { pages: -1 })
    .metadata()
    .catch(() => null);
  return metadata !== null;
}

/**
 * Chooses the frames that an output format can hold.
 *
 * @param options.animated `auto` keeps every frame if the format can and warns if it cannot, `all`
 *   refuses to lose any, `first` takes one
 * @throws Failure with a file error code
 */
export async function selectFrames(
  input: ImageInput,
  header: Header,
  format: OutputFormat,
  { animated, metadata, profile }: FrameOptions,
): Promise<Selection> {
  const keepsProfile =
    FORMATS[format].metadata && (metadata === 'icc' || metadata === 'all' || profile !== undefined);
  const one = { frames: 1, profiled: keepsProfile, warnings: [] };
  const total = header.storedPages;
  if (animated === 'first' || total === 1) return one;

  const unread = total > header.pages;
  const isAnimation = header.animated || unread;
  const canHold = isAnimation
    ? FORMATS[format].animation && !unread
    : header.format === 'tiff' &&
      format === 'tiff' &&
      header.raw === null &&
      (await pagesOfOneSize(input));
  if (canHold) return { frames: header.pages, profiled: false, warnings: [] };
  const noun = isAnimation ? 'frames' : 'pages';
  const name = (unread ? header.format : format).toUpperCase();
  const message = `only the first of ${total} ${noun} is ${unread ? 'read of an animated' : 'kept in'} ${name}`;
  if (animated === 'all') throw fileFailure('animation_unsupported', message);
  return { ...one, warnings: [{ code: isAnimation ? 'animation_lost' : 'pages_lost', message }] };
}

/**
 * Opens an input: oriented, in sRGB unless the selection keeps its profile.
 *
 * @throws Failure with a file error code
 */
export async function openPicture(
  file: ImageInput,
  header: Header,
  { frames, profiled }: Pick<Selection, 'frames' | 'profiled'>,
): Promise<Sharp> {
  file.admit(estimateDecoding(header, 1));
  const input = await withTrueColours(file, header);
  if (frames === 1) {
    if (header.tone && !profiled) return load(await withTone(input, header.tone, header));
    const image = load(input).autoOrient();
    return profiled ? image : toSrgb(image, header);
  }
  checkFrames(header, input.limits);
  input.admit(estimateDecoding(header, frames));
  if (header.format === 'gif' && isTruncatedGif(input.bytes)) {
    throw damagedImage('GIF', 'it breaks off');
  }
  const all = toSrgb(load(input, { pages: -1 }), header);
  return header.oriented ? mapFrames(input, all, { ...header, frames }, upright(header)) : all;
}

/**
 * Converts colours to sRGB. sharp does so itself with eight bits, but converts sixteen bits to Display P3
 * (0.35.5), which would be shown too pale without its profile.
 */
function toSrgb(image: Sharp, { deep, grey, profiled }: Header): Sharp {
  return deep && !grey && profiled ? image.withIccProfile('srgb', { attach: false }) : image;
}

/** EXIF orientations as a quarter turn clockwise after an optional mirror (EXIF 2.32, 4.6.4 A). */
const ORIENTATION: Readonly<Record<number, readonly [mirror: boolean, degrees: number]>> = {
  2: [true, 0],
  3: [false, 180],
  4: [true, 180],
  5: [true, 270],
  6: [false, 90],
  7: [true, 90],
  8: [false, 270],
};

/** Mirrors left to right, then rotates clockwise. */
export function turnOf(orientation = 1): readonly [mirror: boolean, degrees: number] {
  return ORIENTATION[orientation] ?? [false, 0];
}

/** Rotates a frame by its EXIF orientation; sharp also mirrors before it rotates. */
export function upright({ metadata }: Header): (frame: Sharp) => Sharp {
  const [mirror, degrees] = turnOf(metadata.orientation);
  return (frame) => frame.flop(mirror).rotate(degrees);
}
