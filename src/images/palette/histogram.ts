import { oklabFromSrgb } from './oklab.ts';

/** Bits per channel: 32 levels each, 32,768 bins, of which a photograph fills a few thousand. */
const BITS = 5;
const SHIFT = 8 - BITS;
const BINS = 1 << (3 * BITS);

/** Share of an image above which a colour is flat. */
const FLAT_SHARE = 0.02;
/** Share of flat colours above which an image is a drawing; photographs hardly repeat exact colours. */
const DRAWING_SHARE = 0.5;
/** Most flat colours between which edges are searched; those of rarer ones do not matter. */
const MAX_FLATS = 12;
/** Largest share of one shade of a blurred edge, relative to each colour beside the edge. */
const BLEND_SHARE = 1 / 16;
/** Largest share of all shades of that edge together. */
const BLENDS_SHARE = 1 / 2;
/** Largest distance, in levels, of a rounded blend from the line between its two colours. */
const BLEND_DISTANCE = 4;
/** Overshoot of a sharpening resampler beyond both ends of an edge, relative to its height. */
const OVERSHOOT = 0.1;
/** Share below which a colour of a flat drawing is a speck, such as a corner where three areas meet. */
const SPECK_SHARE = 1 / 4096;
/** Largest share of all specks: a photograph cut out on white consists of rare colours only. */
const SPECKS_SHARE = 1 / 64;

/**
 * The colours of an image, with one entry per filled bin in the order of the bins: the same pixels in any
 * order have the same histogram.
 */
export type Histogram = ReturnType<typeof gather>;

/** Tables of one count, kept because allocating 1.5 MB for each image made the collector run as long as the count. */
const TABLES = {
  /** Count and three sums are adjacent, so that a pixel touches one cache line. */
  sums: new Float64Array(BINS * 4),
  /** Boyer and Moore's majority vote: a colour with more than half of a bin becomes its candidate. */
  candidate: new Int32Array(BINS),
  lead: new Int32Array(BINS),
  votes: new Float64Array(BINS),
};

/**
 * Counts RGBA pixels (8 bits, interleaved, sRGB) by colour. Pixels with an alpha under 128 and an incomplete
 * last pixel do not count.
 */
export function colourHistogram(pixels: Uint8Array): Histogram {
  const end = pixels.length - (pixels.length % 4);
  const { sums, candidate, lead, votes } = TABLES;
  for (const table of Object.values(TABLES)) table.fill(0);
  for (let offset = 0; offset < end; offset += 4) {
    if (pixels[offset + 3]! < 128) continue;
    const red = pixels[offset]!;
    const green = pixels[offset + 1]!;
    const blue = pixels[offset + 2]!;
    const bin = binOf(red, green, blue);
    const at = bin * 4;
    sums[at]! += 1;
    sums[at + 1]! += red;
    sums[at + 2]! += green;
    sums[at + 3]! += blue;
    const colour = (red << 16) | (green << 8) | blue;
    if (lead[bin] === 0) candidate[bin] = colour;
    lead[bin]! += candidate[bin] === colour ? 1 : -1;
  }
  // The vote has a candidate even without a majority, so that its pixels must be counted.
  for (let offset = 0; offset < end; offset += 4) {
    if (pixels[offset + 3]! < 128) continue;
    const red = pixels[offset]!;
    const green = pixels[offset + 1]!;
    const blue = pixels[offset + 2]!;
    const bin = binOf(red, green, blue);
    if (candidate[bin] === ((red << 16) | (green << 8) | blue)) votes[bin] = votes[bin]! + 1;
  }
  return gather(sums, candidate, votes);
}

function binOf(red: number, green: number, blue: number): number {
  return ((red >> SHIFT) << (2 * BITS)) | ((green >> SHIFT) << BITS) | (blue >> SHIFT);
}

function gather(sums: Float64Array, candidate: Int32Array, votes: Float64Array) {
  let size = 0;
  for (let bin = 0; bin < BINS; bin += 1) if (sums[bin * 4]! > 0) size += 1;
  const histogram = {
    /** Filled bins. */
    size,
    /** Visible pixels in all bins. */
    total: 0,
    /** Visible pixels in each bin. */
    weight: new Float64Array(size),
    /** As `weight`, but 0 for colours of blurred edges between flat areas. */
    genuine: new Float64Array(size),
    /** The bin's mean colour in OKLab: lightness, a and b. */
    places: new Float64Array(size * 3),
    /** The colour of more than half of the bin's pixels (0xrrggbb); -1 if there is none. */
    flat: new Int32Array(size).fill(-1),
    /** Pixels of that colour; 0 if there is none. */
    flatWeight: new Float64Array(size),
  };
  const means = new Float64Array(size * 3);
  let index = 0;
  for (let bin = 0; bin < BINS; bin += 1) {
    const weight = sums[bin * 4]!;
    if (weight === 0) continue;
    const red = sums[bin * 4 + 1]! / weight;
    const green = sums[bin * 4 + 2]! / weight;
    const blue = sums[bin * 4 + 3]! / weight;
    means.set([red, green, blue], index * 3);
    const { lightness, a, b } = oklabFromSrgb({ red, green, blue });
    histogram.places.set([lightness, a, b], index * 3);
    histogram.total += weight;
    histogram.weight[index] = weight;
    histogram.genuine[index] = weight;
    if (votes[bin]! * 2 > weight) {
      histogram.flat[index] = candidate[bin]!;
      histogram.flatWeight[index] = votes[bin]!;
    }
    index += 1;
  }
  removeBlends(histogram, means);
  return histogram;
}

/**
 * Removes the genuine weight of blends. In a flat drawing (a flag, a logo, a chart) the pixels along an
 * edge are mixtures of the colours of two areas. Without the positions of the pixels, a mixture is detected
 * by its position on the line between two far more common colours in encoded sRGB, in which nearly all
 * programs blend.
 *
 * @param means red, green and blue of each bin
 */
function removeBlends(histogram: Histogram, means: Float64Array): void {
  const { total, genuine } = histogram;
  const flats = flatBins(histogram);
  let covered = 0;
  for (const bin of flats) covered += histogram.flatWeight[bin]!;
  if (flats.length === 0 || covered < total * DRAWING_SHARE) return;

  for (let one = 0; one < flats.length; one += 1) {
    for (let other = one + 1; other < flats.length; other += 1) {
      const between = blendsBetween(histogram, means, flats[one]!, flats[other]!);
      for (const bin of between) genuine[bin] = 0;
    }
  }
  removeSpecks(histogram);
}

function removeSpecks(histogram: Histogram): void {
  const { total, genuine } = histogram;
  let sum = 0;
  for (const weight of genuine) if (weight < total * SPECK_SHARE) sum += weight;
  if (sum > total * SPECKS_SHARE) return;
  for (let bin = 0; bin < histogram.size; bin += 1) {
    if (genuine[bin]! < total * SPECK_SHARE) genuine[bin] = 0;
  }
}

/** The bins with one exact, common colour, the most common first. */
function flatBins(histogram: Histogram): number[] {
  const { flatWeight, total } = histogram;
  const bins: number[] = [];
  for (let bin = 0; bin < histogram.size; bin += 1) {
    if (flatWeight[bin]! >= total * FLAT_SHARE) bins.push(bin);
  }
  return bins.sort((x, y) => flatWeight[y]! - flatWeight[x]! || x - y).slice(0, MAX_FLATS);
}

/** The bins on the line between two flat bins; none if they are too common together. */
function blendsBetween(
  { size, weight }: Histogram,
  means: Float64Array,
  start: number,
  end: number,
): readonly number[] {
  const rarer = Math.min(weight[start]!, weight[end]!);
  const red = means[start * 3]!;
  const green = means[start * 3 + 1]!;
  const blue = means[start * 3 + 2]!;
  const towardsRed = means[end * 3]! - red;
  const towardsGreen = means[end * 3 + 1]! - green;
  const towardsBlue = means[end * 3 + 2]! - blue;
  const square = towardsRed ** 2 + towardsGreen ** 2 + towardsBlue ** 2;
  const found: number[] = [];
  let sum = 0;
  for (let bin = 0; bin < size; bin += 1) {
    if (weight[bin]! > rarer * BLEND_SHARE) continue;
    const fromRed = means[bin * 3]! - red;
    const fromGreen = means[bin * 3 + 1]! - green;
    const fromBlue = means[bin * 3 + 2]! - blue;
    const along =
      (fromRed * towardsRed + fromGreen * towardsGreen + fromBlue * towardsBlue) / square;
    if (along < -OVERSHOOT || along > 1 + OVERSHOOT) continue;
    const distance =
      (fromRed - along * towardsRed) ** 2 +
      (fromGreen - along * towardsGreen) ** 2 +
      (fromBlue - along * towardsBlue) ** 2;
    if (distance > BLEND_DISTANCE ** 2) continue;
    found.push(bin);
    sum += weight[bin]!;
  }
  return sum <= rarer * BLENDS_SHARE ? found : [];
}
