/**
 * sRGB (8-bit, D65, IEC 61966-2-1 transfer curve) to and from OKLab, by the matrices that
 * Björn Ottosson published in "A perceptual color space for image processing"
 * (https://bottosson.github.io/posts/oklab/, values of 2021-01-25).
 */

/** A colour in OKLab: lightness 0 (black) to 1 (white), a and b roughly -0.4 to 0.4. */
export type Oklab = ReturnType<typeof oklabFromSrgb>;

/** A colour in sRGB, each channel 0 to 255. */
export interface Srgb {
  red: number;
  green: number;
  blue: number;
}

/** Light of each level; the last again, for interpolation. */
export const LINEAR_BY_LEVEL = Float64Array.from({ length: 257 }, (_, level) => {
  const encoded = Math.min(level, 255) / 255;
  return encoded <= 0.04045 ? encoded / 12.92 : ((encoded + 0.055) / 1.055) ** 2.4;
});

/** Exact at whole levels, linear between them, for mean colours of several pixels. */
function linearise(level: number): number {
  const whole = Math.floor(level);
  const lower = LINEAR_BY_LEVEL[whole]!;
  return lower + (level - whole) * (LINEAR_BY_LEVEL[whole + 1]! - lower);
}

function encode(linear: number): number {
  if (linear <= 0) return 0;
  if (linear >= 1) return 255;
  return 255 * (linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055);
}

/** Converts from sRGB. Channels are 0 to 255 and may be fractions, as means of several pixels are. */
export function oklabFromSrgb(colour: Srgb) {
  const red = linearise(colour.red);
  const green = linearise(colour.green);
  const blue = linearise(colour.blue);
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const medium = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return {
    lightness: 0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
    a: 1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
    b: 0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
  };
}

/** Converts to sRGB with whole channels 0 to 255. A colour outside of sRGB is clipped by channel. */
export function srgbFromOklab(colour: Oklab): Srgb {
  const { lightness, a, b } = colour;
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return {
    red: Math.round(encode(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short)),
    green: Math.round(encode(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short)),
    blue: Math.round(encode(-0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short)),
  };
}
