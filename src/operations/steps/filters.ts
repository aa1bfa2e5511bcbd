import { onWhite, parseColour } from '../../images/colour.ts';
import { type Pixels, read, readRaw, readSamples, start } from '../../images/decoding/pixels.ts';
import { openImageLayer } from '../../images/layers/image-layer.ts';
import { fullOf } from '../definition/change-pixels.ts';
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
  for (let at = 0; at < data.length; at += 1) {
    const difference = data[at]! - blurred[at]!;
    if ((channels === 4 && at % 4 === 3) || Math.abs(difference) < least) continue;
    const sharp = Math.round(data[at]! + options.amount * difference);
    data[at] = Math.min(full, Math.max(0, sharp));
  }
  return pixels;
}

/** Lays pixels on a colour. */
export function flattened(pixels: Pixels, options: { readonly background: string }): Pixels {
  const { data, channels } = pixels;
  if (channels !== 4) return pixels;
  const full = fullOf(pixels);
  const { r, g, b } = onWhite(parseColour(options.background));
  const behind = [r, g, b].map((sample) => (sample / 255) * full);
  // Each pixel is written where no later one is.
  const flat = data.subarray(0, (data.length / 4) * 3);
  for (let at = 0, to = 0; at < data.length; at += 4, to += 3) {
    const share = data[at + 3]! / full;
    for (let colour = 0; colour < 3; colour += 1) {
      flat[to + colour] = Math.round(data[at + colour]! * share + behind[colour]! * (1 - share));
    }
  }
  return { ...pixels, data: flat, channels: 3 };
}

/** Makes corners transparent. */
export function rounded(
  pixels: Pixels,
  options: { readonly radius?: number | undefined; readonly percent?: number | undefined },
): Pixels {
  const { data, width, height } = pixels;
  const shorter = Math.min(width, height);
  const corner = Math.min(shorter / 2, options.radius ?? (shorter * options.percent!) / 100);
  /** Places along a side whose centre is beyond its straight part, with the distance from it. */
  const bend = (side: number) =>
    Array.from({ length: side }, (_, at) => ({
      at,
      beyond: corner - Math.min(at + 0.5, side - at - 0.5),
    })).filter(({ beyond }) => beyond > 0);
  const columns = bend(width);
  for (const { at: y, beyond: down } of bend(height)) {
    for (const { at: x, beyond: right } of columns) {
      const share = corner - Math.hypot(right, down) + 0.5;
      const at = (y * width + x) * 4 + 3;
      if (share < 1) data[at] = Math.round(data[at]! * Math.max(0, share));
    }
  }
  return pixels;
}

/** Reads a mask as one channel of its size, which is enlarged faster than four. */
export async function openMask({ input }: Source, options: { readonly image: string }) {
  const { draw, size, warnings } = await openImageLayer(input, options.image);
  const { data } = await readSamples(await draw(size));
  const brightness = new Uint8Array(data.length / 4);
  for (let at = 0; at < data.length; at += 4) {
    const bright = luma(data[at]!, data[at + 1]!, data[at + 2]!);
    brightness[at / 4] = Math.round((bright * data[at + 3]!) / 255);
  }
  const mask: Pixels = { data: brightness, ...size, channels: 1 };
  return { options: { ...options, mask }, warnings };
}

/** Makes pixels as opaque as a mask is bright. */
export async function masked(pixels: Pixels, options: object, { input }: Source): Promise<Pixels> {
  const { mask } = options as { readonly mask: Pixels };
  const { data, width, height } = pixels;
  const image = start(input, mask).resize({ width, height, fit: 'fill' }).toColourspace('b-w');
  const { data: brightness } = await readRaw(image.raw());
  for (let at = 0, alpha = 3; at < brightness.length; at += 1, alpha += 4) {
    data[alpha] = Math.round((data[alpha]! * brightness[at]!) / 255);
  }
  return pixels;
}
