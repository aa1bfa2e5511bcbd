import { estimateDecoding } from './estimate.ts';
import { fileFailure } from './file-error.ts';
import { FORMATS, type OutputFormat } from './formats.ts';
import { isTruncatedGif } from './gif.ts';
import { checkFrames, type Header } from './header.ts';
import type { ImageInput, Sharp, SharpOptions } from './input.ts';
import type { MetadataPolicy } from './metadata.ts';
import type { Warning } from './output.ts';
import { mapFrames } from './pixels.ts';
import { withTrueColours } from './true-colours.ts';

/** An input opened for one output: oriented, with the frames that the output can hold. */
export interface Picture {
  readonly image: Sharp;
  readonly header: Header;
  /** 1, or the number of frames (pages) of the input. */
  readonly frames: number;
  readonly warnings: readonly Warning[];
}

export type Animated = 'auto' | 'first' | 'all';

function load({ bytes, limits, sharp }: ImageInput, options: SharpOptions = {}): Sharp {
  // The header was checked already; this limit is for decoders that find more pixels.
  return sharp(bytes, { limitInputPixels: limits.pixels, ...options });
}

async function pagesOfOneSize(input: ImageInput): Promise<boolean> {
  try {
    await load(input, { pages: -1 }).metadata();
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens an input for an output format.
 *
 * @param options.animated `auto` keeps every frame if the format can and warns if it cannot, `all`
 *   refuses to lose any, `first` takes one
 * @throws Failure with a file error code
 */
export async function openPicture(
  file: ImageInput,
  header: Header,
  format: OutputFormat,
  { animated, metadata }: { readonly animated: Animated; readonly metadata: MetadataPolicy },
): Promise<Picture> {
  file.admit(estimateDecoding(header, 1));
  const input = await withTrueColours(file, header);
  const one = (warnings: readonly Warning[] = []): Picture => {
    const image = load(input).autoOrient();
    const keepsProfile = FORMATS[format].metadata && (metadata === 'icc' || metadata === 'all');
    return { image: keepsProfile ? image : toSrgb(image, header), header, frames: 1, warnings };
  };
  if (animated === 'first') return one();
  const total = header.storedPages;
  if (total === 1) return one();

  const unread = total > header.pages;
  const isAnimation = header.animated || unread;
  const canHold = isAnimation
    ? FORMATS[format].animation && !unread
    : header.format === 'tiff' &&
      format === 'tiff' &&
      header.raw === null &&
      (await pagesOfOneSize(input));
  if (canHold) {
    checkFrames(header, input.limits);
    input.admit(estimateDecoding(header, header.pages));
    if (header.format === 'gif' && isTruncatedGif(input.bytes)) {
      throw fileFailure('corrupt_image', 'this GIF image is damaged: it breaks off');
    }
    const all = toSrgb(load(input, { pages: -1 }), header);
    const image = header.oriented ? await mapFrames(input, all, header, upright(header)) : all;
    return { image, header, frames: header.pages, warnings: [] };
  }
  const noun = isAnimation ? 'frames' : 'pages';
  const place = unread ? 'read of an animated PNG' : `kept in ${format.toUpperCase()}`;
  const message = `only the first of ${total} ${noun} is ${place}`;
  if (animated === 'all') throw fileFailure('animation_unsupported', message);
  return one([{ code: isAnimation ? 'animation_lost' : 'pages_lost', message }]);
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

/** Rotates a frame by its EXIF orientation; sharp also mirrors before it rotates. */
function upright({ metadata }: Header): (frame: Sharp) => Sharp {
  const [mirror, degrees] = ORIENTATION[metadata.orientation ?? 1] ?? [false, 0];
  return (frame) => frame.flop(mirror).rotate(degrees);
}
