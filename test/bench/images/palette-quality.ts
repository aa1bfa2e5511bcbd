import { pixels } from './pictures.ts';

type Oklab = readonly [number, number, number];

/** sRGB to linear light for each byte, IEC 61966-2-1. */
const linear = Float64Array.from({ length: 256 }, (_, value) => {
  const share = value / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

/** Björn Ottosson, "A perceptual color space for image processing" (2020). */
function oklab(red: number, green: number, blue: number): Oklab {
  const r = linear[red]!;
  const g = linear[green]!;
  const b = linear[blue]!;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** Pixels of a photograph in OKLab, for comparison with palettes. */
export type Sample = readonly Oklab[];

/**
 * Every sixth pixel of every sixth row of the whole picture: enough to distinguish palettes, and not averaged,
 * because shrinking would mix colours that the picture does not have.
 */
export async function sample(file: string): Promise<Sample> {
  const { width, height, data } = await pixels(file);
  const points: Oklab[] = [];
  for (let y = 0; y < height; y += 6) {
    for (let x = 0; x < width; x += 6) {
      const at = (y * width + x) * 3;
      points.push(oklab(data[at]!, data[at + 1]!, data[at + 2]!));
    }
  }
  return points;
}

/** The mean distance in OKLab from each pixel to its nearest colour; lower is better. */
export function meanDifference(points: Sample, palette: readonly string[]): number {
  const colours = palette.map((hex) => {
    const value = Number.parseInt(hex.replace('#', '').slice(0, 6), 16);
    if (Number.isNaN(value)) throw new Error(`expected #rrggbb, received ${hex}`);
    return oklab(value >> 16, (value >> 8) & 255, value & 255);
  });
  if (colours.length === 0) throw new Error('expected a palette with colours');
  let sum = 0;
  for (const [l, a, b] of points) {
    let nearest = Number.POSITIVE_INFINITY;
    for (const colour of colours) {
      const square = (l - colour[0]) ** 2 + (a - colour[1]) ** 2 + (b - colour[2]) ** 2;
      if (square < nearest) nearest = square;
    }
    sum += Math.sqrt(nearest);
  }
  return sum / points.length;
}
