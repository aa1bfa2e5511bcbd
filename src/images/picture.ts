import { fileFailure } from './file-error.ts';
import type { OutputFormat } from './formats.ts';
import { FORMATS } from './formats.ts';
import type { Header } from './header.ts';
import type { ImageInput, Sharp, SharpOptions } from './input.ts';
import type { Warning } from './output.ts';

/** An input opened for one output: oriented, with as many of its frames as the output can hold. */
export interface Picture {
  readonly image: Sharp;
  readonly header: Header;
  /** 1, or the number of frames (pages) of the input. */
  readonly frames: number;
  readonly warnings: readonly Warning[];
}

export type Animated = 'auto' | 'first' | 'all';

function load({ bytes, limits, sharp }: ImageInput, options: SharpOptions = {}): Sharp {
  // The header was held against the limit already; this is for decoders that find more than it said.
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
 * @param animated `auto` keeps every frame where the format can and says where it cannot, `all`
 *   refuses to lose any, `first` takes one
 * @throws Failure animation_unsupported
 */
export async function openPicture(
  input: ImageInput,
  header: Header,
  format: OutputFormat,
  animated: Animated,
): Promise<Picture> {
  const one = (warnings: readonly Warning[] = []): Picture => ({
    image: load(input).autoOrient(),
    header,
    frames: 1,
    warnings,
  });
  if (header.pages === 1 || animated === 'first') return one();

  const holds = header.animated
    ? FORMATS[format].animation
    : header.format === 'tiff' && format === 'tiff' && (await pagesOfOneSize(input));
  if (holds) {
    const all = load(input, { pages: -1 });
    const image = header.oriented
      ? await mapFrames(input, all, header, (frame) => frame, {
          orientation: header.metadata.orientation!,
        })
      : all;
    return { image, header, frames: header.pages, warnings: [] };
  }
  const noun = header.animated ? 'frames' : 'pages';
  const message = `only the first of ${header.pages} ${noun} is kept in ${format.toUpperCase()}`;
  if (animated === 'all') throw fileFailure('animation_unsupported', message);
  return one([{ code: header.animated ? 'animation_lost' : 'pages_lost', message }]);
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

/**
 * Applies a change to each frame by itself: libvips holds an animation as one tall image, which
 * cannot be turned as a whole without mixing its frames. The frames come out as raw pixels, so
 * that what follows sees one tall image again.
 */
export async function mapFrames(
  { sharp }: ImageInput,
  image: Sharp,
  header: Header,
  change: (frame: Sharp) => Sharp,
  { orientation = 1 }: { orientation?: number } = {},
): Promise<Sharp> {
  const tall = await image
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, channels } = tall.info;
  const height = tall.info.height / header.pages;
  const frameBytes = width * height * channels;
  const [mirror, degrees] = ORIENTATION[orientation] ?? [false, 0];
  const frames: Buffer[] = [];
  let size = { width, height };
  for (let page = 0; page < header.pages; page += 1) {
    const pixels = tall.data.subarray(page * frameBytes, (page + 1) * frameBytes);
    let frame = sharp(pixels, { raw: { width, height, channels } });
    if (orientation > 1) {
      const upright = await frame.flop(mirror).raw().toBuffer({ resolveWithObject: true });
      frame = sharp(upright.data, { raw: { width, height, channels } }).rotate(degrees);
    }
    const { data, info } = await change(frame)
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    size = info;
    frames.push(data);
  }
  return sharp(Buffer.concat(frames), {
    limitInputPixels: false,
    raw: {
      width: size.width,
      height: size.height * header.pages,
      channels: 4,
      pageHeight: size.height,
    },
  });
}

/**
 * What a pipeline gives as the start of a new one, for a step that must see the result of the one
 * before it, or must know nothing of the input's metadata.
 *
 * @param deep keeps sixteen bits a channel
 */
export async function pixelsOf({ sharp }: ImageInput, image: Sharp, deep: boolean): Promise<Sharp> {
  const raw = deep ? image.toColourspace('rgb16').raw({ depth: 'ushort' }) : image.raw();
  const { data, info } = await raw.toBuffer({ resolveWithObject: true });
  const pixels = deep ? new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2) : data;
  const { width, height, channels, pageHeight } = info;
  return sharp(pixels, {
    limitInputPixels: false,
    raw: { width, height, channels, ...(pageHeight && { pageHeight }) },
  });
}
