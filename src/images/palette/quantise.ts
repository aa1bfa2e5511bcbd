import { assign, type Clusters, clusterWeights, move, type Points, split } from './clusters.ts';
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
  const genuine = pointsOf(histogram, histogram.genuine);
  const clusters = clusterPoints(genuine, count);
  mergeNear(genuine, clusters, MERGE_DISTANCE);
  const colours = representatives(histogram, clusters);
  return proportions(pixelsOf(histogram, colours), histogram.total);
}

/** Points of one shape, whatever their weights: V8 compiles the loops over them once. */
function pointsOf({ size, places }: Histogram, weight: Float64Array): Points {
  return { size, places, weight };
}

/** Rounds after each split, which lead to better results than more rounds at the end. */
const ROUNDS_BETWEEN = 3;
const ROUNDS_OF_MEANS = 20;
const ROUNDS_OF_MEDIANS = 20;
/** Relative improvement of a round below which no more follow. */
const MIN_IMPROVEMENT = 1e-4;

/**
 * Finds at most `most` clusters (1 to 255) of the points, deterministically: starts with one, makes the
 * split that lowers the variance most until there are enough, moves the centres to their means (Lloyd's
 * k-means) and finally to their medians, because the mean distance is to be minimal, not the mean square.
 * A median also stays on a colour that dominates its cluster, wherever the rest of the cluster is. Returns
 * fewer clusters if no split is left, and none if no point has weight.
 */
function clusterPoints(points: Points, most: number): Clusters {
  const clusters: Clusters = {
    count: 0,
    centres: new Float64Array(most * 3),
    labels: new Uint8Array(points.size),
  };
  if (!points.weight.some((weight) => weight > 0)) return clusters;
  clusters.count = 1;
  move(points, clusters, 'means');
  while (clusters.count < most && split(points, clusters)) {
    iterate(points, clusters, 'means', ROUNDS_BETWEEN);
  }
  iterate(points, clusters, 'means', ROUNDS_OF_MEANS);
  iterate(points, clusters, 'medians', ROUNDS_OF_MEDIANS);
  return clusters;
}

/** Removes the cluster of less weight of any two whose centres are nearer than `distance`. */
function mergeNear(points: Points, clusters: Clusters, distance: number): void {
  for (;;) {
    const weights = clusterWeights(points, clusters);
    const pair = nearestPair(clusters);
    if (pair === null || pair.distance >= distance) return;
    const lesser = weights[pair.one]! < weights[pair.other]! ? pair.one : pair.other;
    clusters.centres.copyWithin(lesser * 3, (lesser + 1) * 3, clusters.count * 3);
    clusters.count -= 1;
    iterate(points, clusters, 'medians', ROUNDS_OF_MEDIANS);
  }
}

function nearestPair(clusters: Clusters): { one: number; other: number; distance: number } | null {
  const { centres, count } = clusters;
  let nearest = null;
  for (let one = 0; one < count; one += 1) {
    for (let other = one + 1; other < count; other += 1) {
      const distance = Math.hypot(
        centres[one * 3]! - centres[other * 3]!,
        centres[one * 3 + 1]! - centres[other * 3 + 1]!,
        centres[one * 3 + 2]! - centres[other * 3 + 2]!,
      );
      if (nearest === null || distance < nearest.distance) nearest = { one, other, distance };
    }
  }
  return nearest;
}

/** Alternates assignment and moves until the improvement is too small. Ends with an assignment. */
function iterate(points: Points, clusters: Clusters, to: 'means' | 'medians', rounds: number) {
  let before = assign(points, clusters);
  for (let round = 0; round < rounds; round += 1) {
    move(points, clusters, to);
    const cost = assign(points, clusters);
    if (before - cost <= MIN_IMPROVEMENT * before) return;
    before = cost;
  }
}

/** The distinct colours (0xrrggbb) of the clusters that have weight. */
function representatives(histogram: Histogram, clusters: Clusters): number[] {
  const { centres, count, labels } = clusters;
  const weights = clusterWeights(pointsOf(histogram, histogram.genuine), clusters);
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
  const centres = colours.flatMap((colour) => {
    const channels = { red: colour >> 16, green: (colour >> 8) & 255, blue: colour & 255 };
    const { lightness, a, b } = oklabFromSrgb(channels);
    return [lightness, a, b];
  });
  const nearest: Clusters = {
    count: colours.length,
    centres: Float64Array.from(centres),
    labels: new Uint8Array(histogram.size),
  };
  const points = pointsOf(histogram, histogram.weight);
  assign(points, nearest);
  const weights = clusterWeights(points, nearest);
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
