import type { OutputFormat } from './formats.ts';
import { FORMATS } from './formats.ts';
import { isTruncatedGif } from './gif.ts';
import { decodingFailure, type Header } from './header.ts';
import type { MetadataPolicy } from './keep.ts';
import {
  fileFailure,
  type OperationInput,
  type Sharp,
  type SharpOptions,
  type Warning,
} from './operation.ts';

/** An input opened for one output: oriented, with as many of its frames as the output can hold. */
export interface Picture {
  readonly image: Sharp;
  readonly header: Header;
  /** 1, or the number of frames (pages) of the input. */
  readonly frames: number;
  readonly warnings: readonly Warning[];
}

export type Animated = 'auto' | 'first' | 'all';

function load({ bytes, limits, sharp }: OperationInput, options: SharpOptions = {}): Sharp {
  // The header was held against the limit already; this is for decoders that find more than it said.
  return sharp(bytes, { limitInputPixels: limits.pixels, ...options });
}

async function pagesOfOneSize(input: OperationInput): Promise<boolean> {
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
 * @param options.animated `auto` keeps every frame where the format can and says where it cannot,
 *   `all` refuses to lose any, `first` takes one
 * @throws Failure with a file error code
 */
export async function openPicture(
  input: OperationInput,
  header: Header,
  format: OutputFormat,
  { animated, metadata }: { readonly animated: Animated; readonly metadata: MetadataPolicy },
): Promise<Picture> {
  const one = (warnings: readonly Warning[] = []): Picture => {
    const image = load(input).autoOrient();
    const tagged = metadata === 'icc' || metadata === 'all';
    return { image: tagged ? image : toSrgb(image, header), header, frames: 1, warnings };
  };
  if (header.pages === 1 || animated === 'first') return one();

  const holds = header.animated
    ? FORMATS[format].animation
    : header.format === 'tiff' && format === 'tiff' && (await pagesOfOneSize(input));
  if (holds) {
    if (header.format === 'gif' && isTruncatedGif(input.bytes)) {
      throw fileFailure('corrupt_image', 'this GIF image is damaged: it breaks off');
    }
    const all = toSrgb(load(input, { pages: -1 }), header);
    const image = header.oriented ? await mapFrames(input, all, header, upright(header)) : all;
    return { image, header, frames: header.pages, warnings: [] };
  }
  const noun = header.animated ? 'frames' : 'pages';
  const message = `only the first of ${header.pages} ${noun} is kept in ${format.toUpperCase()}`;
  if (animated === 'all') throw fileFailure('animation_unsupported', message);
  return one([{ code: header.animated ? 'animation_lost' : 'pages_lost', message }]);
}

/**
 * sharp converts colours of eight bits to sRGB by itself, but those of sixteen to Display P3
 * (0.35.5), which without its profile would be shown too pale.
 */
function toSrgb(image: Sharp, { deep, grey, metadata }: Header): Sharp {
  return deep && !grey && metadata.hasProfile
    ? image.withIccProfile('srgb', { attach: false })
    : image;
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

/** Turns a frame as EXIF says; sharp, too, mirrors before it turns. */
function upright({ metadata }: Header): (frame: Sharp) => Sharp {
  const [mirror, degrees] = ORIENTATION[metadata.orientation ?? 1] ?? [false, 0];
  return (frame) => frame.flop(mirror).rotate(degrees);
}

/**
 * Applies a change to each frame by itself: libvips holds an animation as one tall image, which
 * cannot be turned or resampled as a whole without mixing its frames. The frames come out as raw
 * pixels, so that what follows sees one tall image again.
 *
 * @throws Failure with a file error code
 */
export async function mapFrames(
  { sharp }: OperationInput,
  image: Sharp,
  header: Header,
  change: (frame: Sharp) => Sharp,
): Promise<Sharp> {
  try {
    const tall = await pixelsOf(image, header);
    const { width, channels } = tall;
    const height = tall.height / header.pages;
    const frameLength = width * height * channels;
    const frames: PixelData[] = [];
    for (let page = 0; page < header.pages; page += 1) {
      const data = tall.data.subarray(page * frameLength, (page + 1) * frameLength);
      const frame = sharp(data, { raw: { width, height, channels } });
      frames.push(await pixelsOf(change(frame), header));
    }
    const { width: newWidth, height: newHeight, channels: newChannels } = frames[0]!;
    return sharp(joined(frames), {
      limitInputPixels: false,
      raw: {
        width: newWidth,
        height: newHeight * header.pages,
        channels: newChannels,
        pageHeight: newHeight,
      },
    });
  } catch (error) {
    throw decodingFailure(error, header.format);
  }
}

interface PixelData {
  readonly data: Uint8Array | Uint16Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 2 | 3 | 4;
}

/** Decoded samples of eight bits, or of sixteen where the image has more than eight. */
async function pixelsOf(image: Sharp, header: Header): Promise<PixelData> {
  const { data, info } = await image
    .toColourspace(header.deep ? 'rgb16' : 'srgb')
    .raw({ depth: header.deep ? 'ushort' : 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const samples = header.deep
    ? new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2)
    : data;
  return { data: samples, width, height, channels: channels as PixelData['channels'] };
}

function joined(frames: readonly PixelData[]): Uint8Array | Uint16Array {
  const { data: first } = frames[0]!;
  const all =
    first instanceof Uint16Array
      ? new Uint16Array(first.length * frames.length)
      : new Uint8Array(first.length * frames.length);
  frames.forEach(({ data }, page) => {
    all.set(data, page * first.length);
  });
  return all;
}

/**
 * Gives an opaque picture of more than eight bits an alpha channel before sharp does so, which
 * takes 255 x 256 for full opacity where that is 65535 (sharp 0.35.5, ApplyAlpha).
 *
 * @param size of the pipeline's pixels at the time when its background is drawn
 */
export function addAlpha(
  image: Sharp,
  header: Header,
  { width, height }: { readonly width: number; readonly height: number },
): Sharp {
  if (!header.deep || header.hasAlpha) return image;
  const opacity = new Uint16Array(width * height).fill(0xffff);
  // sharp takes any typed array here; its types know of bytes alone.
  return image.joinChannel(opacity as unknown as Buffer, { raw: { width, height, channels: 1 } });
}
