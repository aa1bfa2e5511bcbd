import type { ImageInput, Sharp } from '../input.ts';
import type { Facts, Size } from './header.ts';

/** Decoded interleaved samples of eight bits, or of sixteen if the image has more than eight. */
export interface Pixels {
  readonly data: Uint8Array | Uint16Array;
  readonly width: number;
  /** Height of all frames together, one below the other. */
  readonly height: number;
  readonly channels: 1 | 2 | 3 | 4;
  /** Height of one frame if there are several. */
  readonly pageHeight?: number | undefined;
}

/** Samples of eight bits. */
export interface Samples extends Pixels {
  readonly data: Uint8Array;
}

/** Reads the pixels of a pipeline. */
export async function read(image: Sharp, { deep }: Pick<Facts, 'deep'>): Promise<Pixels> {
  return deep ? readDeep(image, 'rgb16') : readSamples(image);
}

/** Reads the pixels of a pipeline in sRGB with eight bits. */
export function readSamples(image: Sharp): Promise<Samples> {
  return readRaw(image.toColourspace('srgb').raw());
}

/** Reads the pixels of a pipeline with sixteen bits. */
export async function readDeep(image: Sharp, space: 'rgb16' | 'grey16') {
  const { data, ...size } = await readRaw(image.toColourspace(space).raw({ depth: 'ushort' }));
  return { ...size, data: new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2) };
}

/** Reads the bytes of a pipeline whose output is raw. */
export async function readRaw(image: Sharp): Promise<Samples> {
  const { data, info } = await image.toBuffer({ resolveWithObject: true });
  const { width, height, channels, pageHeight } = info;
  return { data, width, height, channels: channels as Pixels['channels'], pageHeight };
}

/** Begins a pipeline with pixels. */
export function start(
  { sharp }: Pick<ImageInput, 'sharp'>,
  { data, pageHeight, ...raw }: Pixels,
): Sharp {
  return sharp(data, {
    limitInputPixels: false,
    raw: { ...raw, ...(pageHeight !== undefined && { pageHeight }) },
  });
}

/** A pipeline that begins with the pixels of another one, and has no metadata of the input. */
export async function withoutMetadata(
  input: ImageInput,
  image: Sharp,
  depth: Pick<Facts, 'deep'>,
): Promise<Sharp> {
  return start(input, await read(image, depth));
}

/**
 * Applies a change to each frame separately: libvips holds an animation as one tall image, whose frames
 * would mix if it were rotated or resampled as a whole. The frames are joined as raw pixels to one tall
 * image again.
 */
export async function mapFrames(
  input: ImageInput,
  image: Sharp,
  { deep, frames: count }: Pick<Facts, 'deep' | 'frames'>,
  change: (frame: Sharp) => Sharp | Promise<Sharp>,
): Promise<Sharp> {
  const { data, width, height: tall, channels } = await read(image, { deep });
  const height = tall / count;
  const length = width * height * channels;
  const frames: Pixels[] = [];
  for (let page = 0; page < count; page += 1) {
    const frame = {
      data: data.subarray(page * length, (page + 1) * length),
      width,
      height,
      channels,
    };
    frames.push(await read(await change(start(input, frame)), { deep }));
  }
  const first = frames[0]!;
  return start(input, {
    ...first,
    data: joined(frames),
    height: first.height * frames.length,
    pageHeight: first.height,
  });
}

function joined(frames: readonly Pixels[]): Uint8Array | Uint16Array {
  const { data: first } = frames[0]!;
  const length = first.length * frames.length;
  const all = first instanceof Uint16Array ? new Uint16Array(length) : new Uint8Array(length);
  for (const [page, { data }] of frames.entries()) all.set(data, page * first.length);
  return all;
}

/**
 * Adds an alpha channel to an opaque picture of more than eight bits before sharp does, whose full opacity
 * would be 255 x 256 instead of 65535 (sharp 0.35.5, ApplyAlpha).
 *
 * @param size size of the pipeline's pixels when its background is drawn
 */
export function addAlpha(
  image: Sharp,
  { deep, hasAlpha }: Pick<Facts, 'deep' | 'hasAlpha'>,
  { width, height }: Size,
): Sharp {
  if (!deep || hasAlpha) return image;
  const opacity = new Uint16Array(width * height).fill(0xffff);
  // sharp accepts any typed array here; its types declare bytes only.
  return image.joinChannel(opacity as unknown as Buffer, { raw: { width, height, channels: 1 } });
}

/**
 * Continues with samples of eight bits: red, green, blue and alpha, in a box of `side` pixels. The linear kernel
 * cannot overshoot; a sharper one adds colours beside every edge.
 */
export function reducedRgba(image: Sharp, side: number): Sharp {
  return image
    .resize({
      width: side,
      height: side,
      fit: 'inside',
      withoutEnlargement: true,
      kernel: 'linear',
    })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw();
}
