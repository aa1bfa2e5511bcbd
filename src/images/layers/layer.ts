import { TRANSPARENT } from '../colour.ts';
import type { Size } from '../decoding/header.ts';
import { readRaw, start } from '../decoding/pixels.ts';
import type { ImageInput, Sharp } from '../input.ts';

/** Red, green, blue and alpha in eight bits. */
export interface LayerPixels extends Size {
  readonly data: Uint8Array;
}

/** A picture that is drawn over others in any size. */
export interface Layer {
  /** Proportion of width to height. */
  readonly ratio: number;
  /** Whether all pixels are grey. */
  readonly grey: boolean;
  /** A pipeline of the picture with four channels. @param size at most this size; the ratio stays */
  draw(size: Size): Promise<Sharp>;
}

/** How a layer is drawn. */
export interface LayerStyle {
  /** Degrees clockwise. */
  readonly angle: number;
  /** From 0 to 1. */
  readonly opacity: number;
}

/** Size of the upright box around a rotated rectangle. */
export function boundsOf({ width, height }: Size, angle: number): Size {
  if (angle % 360 === 0) return { width, height };
  const radians = (angle * Math.PI) / 180;
  const sine = Math.abs(Math.sin(radians));
  const cosine = Math.abs(Math.cos(radians));
  return { width: width * cosine + height * sine, height: width * sine + height * cosine };
}

/** The pixels of a layer: rotated with transparent corners, and as opaque as asked for. */
export async function drawLayer(
  input: ImageInput,
  layer: Layer,
  size: Size,
  { angle, opacity }: LayerStyle,
): Promise<LayerPixels> {
  let image = await layer.draw(size);
  if (angle % 360 !== 0) {
    const upright = start(input, await readRaw(image.raw()));
    image = upright.rotate(angle, { background: TRANSPARENT });
  }
  const { data, width, height } = await readRaw(image.raw());
  if (opacity < 1) {
    for (let at = 3; at < data.length; at += 4) data[at] = Math.round(data[at]! * opacity);
  }
  return { data, width, height };
}

/**
 * One tile of a pattern that covers an image: the layer and the gap beside it, shifted so that the pattern has
 * a layer at the given place, and no larger than the image.
 */
export function tileOf(
  { data, width, height }: LayerPixels,
  gap: number,
  { left, top }: { readonly left: number; readonly top: number },
  image: Size,
): LayerPixels {
  const step = { width: width + gap, height: height + gap };
  const size = {
    width: Math.min(step.width, image.width),
    height: Math.min(step.height, image.height),
  };
  // Copied, because the offset of sharp's buffers may be no multiple of four.
  const from = new Uint32Array(new Uint8Array(data).buffer);
  const pixels = new Uint32Array(size.width * size.height);
  const modulo = (value: number, divisor: number) => ((value % divisor) + divisor) % divisor;
  for (let y = 0; y < size.height; y += 1) {
    const row = modulo(y - top, step.height);
    if (row >= height) continue;
    for (let x = 0; x < size.width; x += 1) {
      const column = modulo(x - left, step.width);
      if (column < width) pixels[y * size.width + x] = from[row * width + column]!;
    }
  }
  return { data: new Uint8Array(pixels.buffer), ...size };
}
