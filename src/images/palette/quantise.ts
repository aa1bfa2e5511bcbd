import { assign, type Clusters, clusterPoints, clusterWeights, mergeNear } from './clusters.ts';
import { colourHistogram, type Histogram } from './histogram.ts';
import { oklabFromSrgb, srgbFromOklab } from './oklab.ts';

/** One colour of a palette. */
export interface Swatch {
  /** `#rrggbb` in lower case, sRGB. */
  hex: string;
  /** The part of the visible pixels that are nearest to this colour, in steps of 0.0001. */
  proportion: number;
}

/** Two colours nearer than this (in OKLab) look alike, so one swatch stands for both. */
const ALIKE = 0.02;
/** Proportions are counted in ten-thousandths, so that they can sum to exactly one. */
const STEPS = 10_000;

/**
 * The `count` colours (1 to 255) that an image is best described by: the least mean distance in
 * OKLab from a pixel to its nearest swatch. `pixels` are RGBA of 8 bits, interleaved, in sRGB;
 * pixels of alpha under 128 are not seen. Largest first, equals by hex; the proportions sum to 1.
 * Fewer than `count` where there are fewer colours, none where no pixel is visible. The same
 * pixels, in whatever order, give the same palette.
 */
export function quantise(pixels: Uint8Array, count: number): Swatch[] {
  const histogram = colourHistogram(pixels);
  const genuine = { ...histogram, weight: histogram.genuine };
  const clusters = clusterPoints(genuine, count);
  mergeNear(genuine, clusters, ALIKE);
  const colours = representatives(histogram, clusters);
  return proportions(pixelsOf(histogram, colours), histogram.total);
}

/** The colours (0xrrggbb) of the clusters that have any weight, none of them twice. */
function representatives(histogram: Histogram, clusters: Clusters): number[] {
  const { centres, count, labels } = clusters;
  const weights = clusterWeights({ ...histogram, weight: histogram.genuine }, clusters);
  const colours = new Set<number>();
  for (let cluster = 0; cluster < count; cluster += 1) {
    if (weights[cluster] === 0) continue;
    const { red, green, blue } = srgbFromOklab({
      lightness: centres[cluster * 3]!,
      a: centres[cluster * 3 + 1]!,
      b: centres[cluster * 3 + 2]!,
    });
    let colour = (red << 16) | (green << 8) | blue;
    // One exact colour that is half of a cluster is its median, but for rounding: take it as is.
    for (let bin = 0; bin < histogram.size; bin += 1) {
      if (labels[bin] !== cluster || histogram.genuine[bin] === 0) continue;
      if (histogram.flatWeight[bin]! * 2 > weights[cluster]!) colour = histogram.flat[bin]!;
    }
    colours.add(colour);
  }
  return [...colours];
}

/** How many pixels are nearest to each colour. */
function pixelsOf(histogram: Histogram, colours: readonly number[]): Map<number, number> {
  const centres = new Float64Array(colours.length * 3);
  for (const [index, colour] of colours.entries()) {
    const { lightness, a, b } = oklabFromSrgb({
      red: colour >> 16,
      green: (colour >> 8) & 255,
      blue: colour & 255,
    });
    centres.set([lightness, a, b], index * 3);
  }
  const nearest: Clusters = {
    count: colours.length,
    centres,
    labels: new Uint8Array(histogram.size),
  };
  assign(histogram, nearest);
  const weights = clusterWeights(histogram, nearest);
  return new Map(colours.map((colour, index) => [colour, weights[index]!]));
}

/**
 * Rounds by the largest remainder: every part gets its whole steps, and the steps left over go
 * to those that were cut the most. A colour with no step to its name is no part of the palette.
 */
function proportions(pixels: ReadonlyMap<number, number>, total: number): Swatch[] {
  const parts = Array.from(pixels, ([colour, weight]) => {
    const exact = (weight / total) * STEPS;
    const steps = Math.floor(exact);
    const hex = `#${colour.toString(16).padStart(6, '0')}`;
    return { hex, steps, cut: exact - steps };
  });
  let left = parts.reduce((steps, part) => steps - part.steps, parts.length > 0 ? STEPS : 0);
  parts.sort((x, y) => y.cut - x.cut || (x.hex < y.hex ? -1 : 1));
  for (const part of parts) {
    if (left === 0) break;
    part.steps += 1;
    left -= 1;
  }
  return parts
    .filter((part) => part.steps > 0)
    .sort((x, y) => y.steps - x.steps || (x.hex < y.hex ? -1 : 1))
    .map(({ hex, steps }) => ({ hex, proportion: steps / STEPS }));
}
