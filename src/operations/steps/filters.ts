import { onWhite, parseColour } from '../../images/colour.ts';
import { type Pixels, read, readSamples, start } from '../../images/decoding/pixels.ts';
import { openImageLayer } from '../../images/layers/image-layer.ts';
import type { Layer } from '../../images/layers/layer.ts';
import { fullOf, multiplyAlpha } from '../definition/change-pixels.ts';
import type { Source } from '../definition/step.ts';
import { luma } from './curves.ts';

/** Adds the difference to a blurred copy. */
export async function sharpened(
  pixels: Pixels,
  options: { readonly radius: number; readonly amount: number; readonly threshold: number },
  { input }: Source,
): Promise<Pixels> {
  const full = fullOf(pixels);
  const { channels, data } = pixels;
  // By default libvips cuts the mask off where it has less than a fifth of its peak.
  const mask = start(input, pixels).blur({ sigma: options.radius, minAmplitude: 0.01 });
  const { data: blurred } = await read(mask, { deep: full > 255 });
  const least = (options.threshold / 255) * full;
  const sharp = data.map((sample: number, at: number) => {
    const difference = sample - blurred[at]!;
    if ((channels === 4 && at % 4 === 3) || Math.abs(difference) < least) return sample;
    return Math.min(full, Math.max(0, Math.round(sample + options.amount * difference)));
  });
  return { ...pixels, data: sharp };
}

/** Lays pixels on a colour. */
export function flattened(pixels: Pixels, options: { readonly background: string }): Pixels {
  const { data, channels } = pixels;
  if (channels !== 4) return pixels;
  const full = fullOf(pixels);
  const { r, g, b } = onWhite(parseColour(options.background));
  const behind = [r, g, b].map((sample) => (sample / 255) * full);
  const flat = data.slice(0, (data.length / 4) * 3);
  for (let at = 0; at < flat.length; at += 1) {
    const [pixel, colour] = [Math.floor(at / 3) * 4, at % 3];
    const share = data[pixel + 3]! / full;
    flat[at] = Math.round(data[pixel + colour]! * share + behind[colour]! * (1 - share));
  }
  return { ...pixels, data: flat, channels: 3 };
}

/** Makes corners transparent. */
export function rounded(
  pixels: Pixels,
  options: { readonly radius?: number | undefined; readonly percent?: number | undefined },
): Pixels {
  const { width, height } = pixels;
  const shorter = Math.min(width, height);
  const corner = Math.min(shorter / 2, options.radius ?? (shorter * options.percent!) / 100);
  /** Distance of a pixel's centre from the straight part of a side. */
  const beyond = (at: number, side: number) => corner - Math.min(at + 0.5, side - at - 0.5);
  return multiplyAlpha(pixels, (x, y) => {
    const [right, down] = [beyond(x, width), beyond(y, height)];
    if (right <= 0 || down <= 0) return 1;
    return Math.min(1, Math.max(0, corner - Math.hypot(right, down) + 0.5));
  });
}

export async function openMask({ input }: Source, options: { readonly image: string }) {
  const layer = await openImageLayer(input, options.image);
  return { options: { ...options, layer }, warnings: layer.warnings };
}

/** Makes pixels as opaque as a mask is bright. */
export async function masked(pixels: Pixels, options: object): Promise<Pixels> {
  const { layer } = options as { readonly layer: Layer };
  const { data, width } = await readSamples(await layer.draw(pixels));
  return multiplyAlpha(pixels, (x, y) => {
    const at = (y * width + x) * 4;
    return (luma(data[at]!, data[at + 1]!, data[at + 2]!) * data[at + 3]!) / 65_025;
  });
}
