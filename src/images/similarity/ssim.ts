/**
 * Structural similarity after Z. Wang, A. C. Bovik, H. R. Sheikh and E. P. Simoncelli, "Image Quality Assessment: From
 * Error Visibility to Structural Similarity" (2004): the mean over Gaussian windows of 11 pixels, on luma. As their
 * program `ssim.m` does, pictures are first reduced so that the shorter side has about 256 pixels.
 */

import type { Samples } from '../decoding/pixels.ts';

/** A luma plane of 0 to 255. */
export interface Luma {
  readonly width: number;
  readonly height: number;
  readonly levels: Float32Array;
}

const WINDOW = 11;
const SIGMA = 1.5;
const C1 = (0.01 * 255) ** 2;
const C2 = (0.03 * 255) ** 2;

/** Pixels of the shorter side to which pictures are reduced. */
const REDUCED_SIDE = 256;

/** The factor by which `ssim.m` reduces a picture before it measures. */
export function reductionFor(width: number, height: number): number {
  return Math.max(1, Math.round(Math.min(width, height) / REDUCED_SIDE));
}

/**
 * The luma of a picture (ITU-R BT.601, as of JPEG), of which each pixel is the mean of a square.
 *
 * @param factor pixels along a side of the square; those at the right and lower border may be smaller
 */
export function lumaOf({ data, width, height, channels }: Samples, factor: number): Luma {
  const columns = Math.ceil(width / factor);
  const rows = Math.ceil(height / factor);
  const levels = new Float32Array(columns * rows);
  for (let row = 0; row < rows; row += 1) {
    const start = row * columns;
    const bottom = Math.min(height, (row + 1) * factor);
    for (let y = row * factor; y < bottom; y += 1) {
      let at = y * width * channels;
      for (let column = 0; column < columns; column += 1) {
        const end = at + Math.min(factor, width - column * factor) * channels;
        let sum = 0;
        for (; at < end; at += channels) {
          sum += 0.299 * data[at]! + 0.587 * data[at + 1]! + 0.114 * data[at + 2]!;
        }
        levels[start + column]! += sum;
      }
    }
    const lines = bottom - row * factor;
    for (let column = 0; column < columns; column += 1) {
      levels[start + column]! /= lines * Math.min(factor, width - column * factor);
    }
  }
  return { width: columns, height: rows, levels };
}

/**
 * The SSIM of two luma planes of one size: 1 where they are equal. A side that is shorter than the window has a window
 * of its length.
 */
export function ssim(one: Luma, other: Luma): number {
  const { width, height } = one;
  const across = gaussian(Math.min(WINDOW, width));
  const down = gaussian(Math.min(WINDOW, height));
  const columns = width - across.length + 1;
  // Blurred along rows: both means, both squares and the product, of the last rows that a window covers.
  const buffers = Array.from(down, () => new Float32Array(columns * SIGNALS));
  let sum = 0;
  for (let y = 0; y < height; y += 1) {
    blurRow(one, other, y, across, buffers[y % down.length]!);
    if (y < down.length - 1) continue;
    const first = y - down.length + 1;
    const rows = Array.from(down, (_, tap) => buffers[(first + tap) % down.length]!);
    sum += sumOfRow(rows, down, columns);
  }
  return sum / (columns * (height - down.length + 1));
}

/** Values of a window: both means, both squares, the product. */
const SIGNALS = 5;

/** Weights of a Gaussian with the sum 1. */
function gaussian(taps: number): Float64Array {
  const centre = (taps - 1) / 2;
  const weights = Float64Array.from({ length: taps }, (_, tap) =>
    Math.exp(-((tap - centre) ** 2) / (2 * SIGMA ** 2)),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

function blurRow(one: Luma, other: Luma, y: number, weights: Float64Array, into: Float32Array) {
  const start = y * one.width;
  const { levels: first } = one;
  const { levels: second } = other;
  for (let column = 0, at = 0; at < into.length; column += 1, at += SIGNALS) {
    let a = 0;
    let b = 0;
    let aa = 0;
    let bb = 0;
    let ab = 0;
    for (let tap = 0; tap < weights.length; tap += 1) {
      const weight = weights[tap]!;
      const left = first[start + column + tap]!;
      const right = second[start + column + tap]!;
      const weighted = weight * left;
      a += weighted;
      b += weight * right;
      aa += weighted * left;
      bb += weight * right * right;
      ab += weighted * right;
    }
    into[at] = a;
    into[at + 1] = b;
    into[at + 2] = aa;
    into[at + 3] = bb;
    into[at + 4] = ab;
  }
}

/** The sum of the SSIM of all windows of a row. */
function sumOfRow(rows: readonly Float32Array[], weights: Float64Array, columns: number): number {
  let sum = 0;
  for (let at = 0; at < columns * SIGNALS; at += SIGNALS) {
    let a = 0;
    let b = 0;
    let aa = 0;
    let bb = 0;
    let ab = 0;
    for (let tap = 0; tap < weights.length; tap += 1) {
      const weight = weights[tap]!;
      const row = rows[tap]!;
      a += weight * row[at]!;
      b += weight * row[at + 1]!;
      aa += weight * row[at + 2]!;
      bb += weight * row[at + 3]!;
      ab += weight * row[at + 4]!;
    }
    const means = a * b;
    const squares = a * a + b * b;
    sum +=
      ((2 * means + C1) * (2 * (ab - means) + C2)) / ((squares + C1) * (aa + bb - squares + C2));
  }
  return sum;
}
