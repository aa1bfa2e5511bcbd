import type { Samples } from '../decoding/pixels.ts';
import { lumaOf, reductionFor, ssim } from './ssim.ts';

/** How much two pictures of one size differ. */
export type Difference = Readonly<ReturnType<typeof difference>>;

/** The background that a transparent picture is measured on; of several, the greater difference counts. */
type Background = 0 | 255;

/**
 * Measures two pictures of one size. Transparent ones are measured on black and on white, and the greater difference
 * counts, so that no difference of visible colours or of transparency is hidden by the background.
 *
 * @param factor reduction of SSIM; that of the published program where not given
 */
export function difference(
  one: Samples,
  other: Samples,
  factor = reductionFor(one.width, one.height),
) {
  const measured = backgroundsOf(one, other).map((background) => {
    const first = flatten(one, background);
    const second = flatten(other, background);
    return {
      ...samplesDifference(first, second),
      ssim: ssim(lumaOf(first, factor), lumaOf(second, factor)),
    };
  });
  const error = Math.max(...measured.map(({ meanSquare }) => meanSquare));
  return {
    /** SSIM of luma: 1 where they are equal. */
    ssim: Math.min(...measured.map((each) => each.ssim)),
    /** Peak signal-to-noise ratio of red, green and blue in decibels; null where no sample differs. */
    psnr: error === 0 ? null : 10 * Math.log10(255 ** 2 / error),
    /** Share of the pixels that differ, 0 to 1. */
    differing: Math.max(...measured.map((each) => each.differing)),
  };
}

/**
 * Measures the SSIM of pictures at full size against one reference, as `difference` does with factor 1, with the luma of the
 * reference computed once.
 */
export function ssimMeter(reference: Samples): (other: Samples) => number {
  const lumaOn = (picture: Samples, background: Background) =>
    lumaOf(flatten(picture, background), 1);
  const hasTransparency = isTransparent(reference);
  const onWhite = lumaOn(reference, 255);
  const onBlack = hasTransparency ? lumaOn(reference, 0) : onWhite;
  // Refers to the lumas only, so that the reference's samples are freed.
  return (other) => {
    const white = ssim(onWhite, lumaOn(other, 255));
    if (!hasTransparency && !isTransparent(other)) return white;
    return Math.min(white, ssim(onBlack, lumaOn(other, 0)));
  };
}

function backgroundsOf(...pictures: readonly Samples[]): Background[] {
  return pictures.some(isTransparent) ? [0, 255] : [255];
}

function isTransparent({ data, channels }: Samples): boolean {
  if (channels === 3) return false;
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return true;
  return false;
}

/** A picture on a grey background. */
function flatten(picture: Samples, background: Background): Samples {
  const { data, channels } = picture;
  if (channels === 3) return picture;
  const flat = new Uint8Array((data.length / 4) * 3);
  for (let at = 0, to = 0; at < data.length; at += 4, to += 3) {
    const alpha = data[at + 3]! / 255;
    const rest = background * (1 - alpha);
    flat[to] = data[at]! * alpha + rest + 0.5;
    flat[to + 1] = data[at + 1]! * alpha + rest + 0.5;
    flat[to + 2] = data[at + 2]! * alpha + rest + 0.5;
  }
  return { ...picture, channels: 3, data: flat };
}

function samplesDifference(one: Samples, other: Samples) {
  let squares = 0;
  let pixels = 0;
  for (let at = 0; at < one.data.length; at += 3) {
    const red = one.data[at]! - other.data[at]!;
    const green = one.data[at + 1]! - other.data[at + 1]!;
    const blue = one.data[at + 2]! - other.data[at + 2]!;
    const square = red * red + green * green + blue * blue;
    squares += square;
    if (square > 0) pixels += 1;
  }
  return { meanSquare: squares / one.data.length, differing: pixels / (one.data.length / 3) };
}

/**
 * A picture of the differences: the first one in light grey, and red where the second differs, the darker the more.
 */
export function differencePicture(one: Samples, other: Samples): Samples {
  const { width, height } = one;
  const backgrounds = backgroundsOf(one, other);
  const pairs = backgrounds.map((background) => [
    flatten(one, background).data,
    flatten(other, background).data,
  ]);
  const base = flatten(one, 255).data;
  const data = new Uint8Array(width * height * 3);
  for (let at = 0; at < data.length; at += 3) {
    let most = 0;
    for (const [first, second] of pairs as [Uint8Array, Uint8Array][]) {
      for (let sample = at; sample < at + 3; sample += 1) {
        most = Math.max(most, Math.abs(first[sample]! - second[sample]!));
      }
    }
    const luma = 0.299 * base[at]! + 0.587 * base[at + 1]! + 0.114 * base[at + 2]!;
    const grey = 215 + luma * 0.15;
    // A difference of 64 levels and more is full red; the least one is clearly not grey.
    const rest = most === 0 ? grey : 150 * (1 - Math.min(1, most / 64));
    data[at] = most === 0 ? grey : 255;
    data[at + 1] = rest;
    data[at + 2] = rest;
  }
  return { width, height, channels: 3, data };
}
