import { assign, type Clusters, clusterPoints, clusterWeights, mergeNear } from './clusters.ts';
import { colourHistogram, type Histogram } from './histogram.ts';
import { oklabFromSrgb, srgbFromOklab } from './oklab.ts';

/** One colour of a palette. */
export interface Swatch {
  /** `#rrggbb` in lower case, sRGB. */
  hex: string;
  /** Share of the visible pixels that are nearest to this colour, in steps of 0.0001. */
  proportion: number;
}

/** OKLab distance below which two colours look alike and become one swatch. */
const MERGE_DISTANCE = 0.02;
/** Proportions are counted in ten-thousandths, so that their sum is exactly one. */
const STEPS = 10_000;

/**
 * The palette of `count` colours (1 to 255) with the least mean distance in OKLab from a pixel to its
 * nearest swatch. `pixels` are RGBA of 8 bits, interleaved, in sRGB; pixels with an alpha under 128 do not
 * count. Swatches are sorted by proportion, then by hex; the proportions sum to 1. There are fewer than
 * `count` if the image has fewer colours, and none if no pixel is visible. The palette does not depend on
 * the order of the pixels.
 */
export function quantise(pixels: Uint8Array, count: number): Swatch[] {
  const histogram = colourHistogram(pixels);
  const genuine = { ...histogram, weight: histogram.genuine };
  const clusters = clusterPoints(genuine, count);
  mergeNear(genuine, clusters, MERGE_DISTANCE);
  const colours = representatives(histogram, clusters);
  return proportions(pixelsOf(histogram, colours), histogram.total);
}

/** The distinct colours (0xrrggbb) of the clusters that have weight. */
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
    // An exact colour of half of a cluster is its median except for rounding, and used without it.
    for (let bin = 0; bin < histogram.size; bin += 1) {
      if (labels[bin] !== cluster || histogram.genuine[bin] === 0) continue;
      if (histogram.flatWeight[bin]! * 2 > weights[cluster]!) colour = histogram.flat[bin]!;
    }
    colours.add(colour);
  }
  return [...colours];
}

/** The number of pixels that are nearest to each colour. */
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
 * Rounds by the largest remainder: every part gets its whole steps, and the remaining steps go to the
 * largest remainders. A colour without a step is left out.
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
