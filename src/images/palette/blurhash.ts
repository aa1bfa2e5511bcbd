import { LINEAR_BY_LEVEL } from './oklab.ts';

const DIGITS =
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~';

function base83(value: number, length: number): string {
  let text = '';
  for (let place = 83 ** (length - 1); place >= 1; place /= 83)
    text += DIGITS[Math.floor(value / place) % 83];
  return text;
}

/** The level of sRGB of some light. */
function levelOf(light: number): number {
  const share = light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
  return Math.trunc(share * 255 + 0.5);
}

/** A strength from -1 to 1 as one of 19 steps. */
function step(value: number): number {
  const root = Math.sign(value) * Math.abs(value) ** 0.5;
  return Math.max(0, Math.min(18, Math.floor(root * 9 + 9.5)));
}

/** Cosine waves along a side of some pixels, the first of them constant. */
const wavesOf = (length: number, count: number) =>
  Array.from({ length: count }, (_, wave) =>
    Float64Array.from({ length }, (_, at) => Math.cos((Math.PI * wave * at) / length)),
  );

/**
 * The BlurHash (blurha.sh) of opaque RGBA pixels, with some components across and down: digits of the average colour, and
 * of the strength of waves. Cosines and light come from tables, because computing them for each pixel and component took
 * ten times as long.
 */
export function blurHash(
  { data, width, height }: { data: Uint8ClampedArray; width: number; height: number },
  across: number,
  down: number,
): string {
  const light = new Float64Array(data.length);
  for (let at = 0; at < light.length; at += 1) light[at] = LINEAR_BY_LEVEL[data[at]!]!;
  const columns = wavesOf(width, across);
  const [average, ...waves] = wavesOf(height, down).flatMap((row, y) =>
    columns.map((column, x) => strengthOf(light, column, row, x + y === 0 ? 1 : 2)),
  );
  const strongest = Math.max(0, ...waves.flat());
  const scale = Math.max(0, Math.min(82, Math.floor(strongest * 166 - 0.5)));
  const most = waves.length > 0 ? (scale + 1) / 166 : 1;
  const colour = average!.reduce((sum, one) => sum * 256 + levelOf(one), 0);
  const ends = waves.map((wave) => wave.reduce((sum, one) => sum * 19 + step(one / most), 0));
  const start = [base83(across - 1 + (down - 1) * 9, 1), base83(scale, 1), base83(colour, 4)];
  return [...start, ...ends.map((value) => base83(value, 2))].join('');
}

/** Red, green and blue of a component. */
function strengthOf(light: Float64Array, column: Float64Array, row: Float64Array, factor: number) {
  let [red, green, blue] = [0, 0, 0];
  for (let x = 0; x < column.length; x += 1) {
    for (let y = 0; y < row.length; y += 1) {
      const basis = factor * column[x]! * row[y]!;
      const at = 4 * (y * column.length + x);
      red += basis * light[at]!;
      green += basis * light[at + 1]!;
      blue += basis * light[at + 2]!;
    }
  }
  const share = 1 / (column.length * row.length);
  return [red * share, green * share, blue * share];
}
