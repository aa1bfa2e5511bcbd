import { parseColour } from '../../images/colour.ts';
import type { Pixels } from '../../images/decoding/pixels.ts';
import { type Curve, fullOf } from '../definition/change-pixels.ts';

/** Luma by ITU-R BT.709. */
export function luma(red: number, green: number, blue: number): number {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Pulls midtones to a colour; black and white stay. */
export function tintCurves(options: { readonly color: string; readonly strength: number }) {
  const { r, g, b } = parseColour(options.color);
  const strengths = [r, g, b].map((channel) => (channel * options.strength) / 100 - luma(r, g, b));
  return strengths.map(
    (strength): Curve =>
      (sample) =>
        sample + (strength / 255) * (1 - 4 * (sample - 0.5) ** 2),
  );
}

/** Stretches the tones between two shares of the visible pixels, of all colours alike. */
export function stretchCurves(
  options: { readonly low: number; readonly high: number },
  pixels: Pixels,
) {
  const { data, channels } = pixels;
  const scale = 65_535 / fullOf(pixels);
  const histogram = new Uint32Array(65_536);
  let count = 0;
  for (let at = 0; at < data.length; at += channels) {
    if (channels === 4 && data[at + 3] === 0) continue;
    histogram[Math.round(luma(data[at]!, data[at + 1]!, data[at + 2]!) * scale)]! += 1;
    count += 1;
  }
  const reach = (percent: number, bins: Uint32Array) => {
    let rest = (percent / 100) * count;
    const isBeyond = (pixelsOfTone: number) => {
      rest -= pixelsOfTone;
      return rest < 0;
    };
    return bins.findIndex(isBeyond) / 65_535;
  };
  const black = reach(options.low, histogram);
  const white = 1 - reach(options.high, histogram.slice().reverse());
  return [(sample: number) => (white > black ? (sample - black) / (white - black) : sample)];
}
