import { oklabFromSrgb } from './oklab.ts';

/** Bins of five bits per channel, of which a photograph fills a few thousand. */
const BINS = 1 << 15;

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
export type Histogram = ReturnType<typeof gather>['histogram'];

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
  for (const table of Object.values(TABLES)) table.fill(0);
  const filled = addPixels(pixels, TABLES);
  countVotes(pixels, TABLES);
  const { histogram, means } = gather(Int32Array.from(filled).sort(), TABLES);
  place(means, histogram.places);
  removeBlends(histogram, means);
  return histogram;
}

// Each loop over pixels or bins is a function of its own: V8 compiles it while the first image is counted.

/** @returns the filled bins */
function addPixels(pixels: Uint8Array, { sums, candidate, lead }: typeof TABLES): number[] {
  const filled: number[] = [];
  for (let offset = 0; offset + 3 < pixels.length; offset += 4) {
    if (pixels[offset + 3]! < 128) continue;
    const colour = (pixels[offset]! << 16) | (pixels[offset + 1]! << 8) | pixels[offset + 2]!;
    const bin = binOf(colour);
    const at = bin * 4;
    if (sums[at] === 0) filled.push(bin);
    sums[at]! += 1;
    sums[at + 1]! += colour >> 16;
    sums[at + 2]! += (colour >> 8) & 255;
    sums[at + 3]! += colour & 255;
    if (lead[bin] === 0) candidate[bin] = colour;
    lead[bin]! += candidate[bin] === colour ? 1 : -1;
  }
  return filled;
}

/** Counts the pixels of each bin's candidate, because the majority vote has one even without a majority. */
function countVotes(pixels: Uint8Array, { candidate, votes }: typeof TABLES): void {
  for (let offset = 0; offset + 3 < pixels.length; offset += 4) {
    if (pixels[offset + 3]! < 128) continue;
    const colour = (pixels[offset]! << 16) | (pixels[offset + 1]! << 8) | pixels[offset + 2]!;
    const bin = binOf(colour);
    if (candidate[bin] === colour) votes[bin]! += 1;
  }
}

/** The upper five bits of each channel. */
function binOf(colour: number): number {
  return ((colour >> 9) & 0x7c00) | ((colour >> 6) & 0x3e0) | ((colour >> 3) & 0x1f);
}

function gather(bins: Int32Array, { sums, candidate, votes }: typeof TABLES) {
  const size = bins.length;
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
  for (let index = 0; index < size; index += 1) {
    const bin = bins[index]!;
    const weight = sums[bin * 4]!;
    for (let channel = 0; channel < 3; channel += 1)
      means[index * 3 + channel] = sums[bin * 4 + 1 + channel]! / weight;
    histogram.total += weight;
    histogram.weight[index] = weight;
    histogram.genuine[index] = weight;
    if (votes[bin]! * 2 > weight) {
      histogram.flat[index] = candidate[bin]!;
      histogram.flatWeight[index] = votes[bin]!;
    }
  }
  return { histogram, means };
}

/** Converts colours to OKLab: lightness, a and b from red, green and blue. */
function place(means: Float64Array, places: Float64Array): void {
  for (let at = 0; at < means.length; at += 3) {
    const [red, green, blue] = [means[at]!, means[at + 1]!, means[at + 2]!];
    const { lightness, a, b } = oklabFromSrgb({ red, green, blue });
    places[at] = lightness;
    places[at + 1] = a;
    places[at + 2] = b;
  }
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
