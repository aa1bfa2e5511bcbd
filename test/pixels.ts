import sharp, { type Metadata } from 'sharp';
import { expect } from 'vitest';

/** A decoded image with its samples as stored: no profile is applied. */
export interface Pixels {
  /** Width of one frame. */
  readonly width: number;
  readonly height: number;
  readonly pages: number;
  /** Whether channels have sixteen bits: samples from 0 to 65535. */
  readonly deep: boolean;
  readonly metadata: Metadata;
  /** Red, green and blue of one pixel; the same thrice where the image is grey. */
  rgb(x: number, y: number, page?: number): number[];
  /** Opacity of one pixel; the maximum where the image has no alpha. */
  alpha(x: number, y: number, page?: number): number;
}

export async function decode(bytes: Uint8Array): Promise<Pixels> {
  const metadata = await sharp(bytes).metadata();
  const { pages = 1 } = metadata;
  const deep = metadata.depth === 'ushort';
  const { data, info } = await sharp(bytes, { pages: pages > 1 ? -1 : 1, ignoreIcc: true })
    .toColourspace(deep ? 'rgb16' : 'srgb')
    .raw({ depth: deep ? 'ushort' : 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const samples = deep ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
  const { width, channels } = info;
  const height = info.height / pages;
  const offset = (x: number, y: number, page: number) => {
    if (x < 0 || y < 0 || x >= width || y >= height || page >= pages) {
      throw new RangeError(`${x},${y} of page ${page} is outside ${width}x${height} x${pages}`);
    }
    return ((page * height + y) * width + x) * channels;
  };
  return {
    width,
    height,
    pages,
    deep,
    metadata,
    rgb: (x, y, page = 0) => [...samples.subarray(offset(x, y, page), offset(x, y, page) + 3)],
    alpha: (x, y, page = 0) =>
      channels === 4 ? samples[offset(x, y, page) + 3]! : deep ? 65_535 : 255,
  };
}

/** Expects colours that differ by no more than `tolerance` in any channel. */
export function expectColour(
  actual: readonly number[],
  expected: readonly number[],
  tolerance = 0,
  where = '',
): void {
  expect(actual.length, where).toBe(expected.length);
  const worst = Math.max(...actual.map((sample, index) => Math.abs(sample - expected[index]!)));
  expect(worst, `${where}: is ${actual}, expected ${expected}`).toBeLessThanOrEqual(tolerance);
}

/** Every sample of all frames as displayed, in sixteen bits where the image has them. */
export async function samplesOf(bytes: Uint8Array): Promise<Buffer> {
  const { depth, pages = 1 } = await sharp(bytes).metadata();
  const deep = depth === 'ushort';
  const image = sharp(bytes, { pages: pages > 1 ? -1 : 1 });
  return (pages > 1 ? image : image.autoOrient())
    .toColourspace(deep ? 'rgb16' : 'srgb')
    .ensureAlpha()
    .raw({ depth: deep ? 'ushort' : 'uchar' })
    .toBuffer();
}

export async function expectSamePixels(output: Uint8Array, input: Uint8Array): Promise<void> {
  expect((await samplesOf(output)).equals(await samplesOf(input))).toBe(true);
}

/** Descriptions of the first few pixels that differ by more than `tolerance` in any channel. */
export function differences(
  pixels: Pixels,
  expected: (x: number, y: number) => readonly number[],
  { tolerance = 0, page = 0, atMost = 5 } = {},
): { x: number; y: number; is: readonly number[]; should: readonly number[] }[] {
  const found: ReturnType<typeof differences> = [];
  for (let y = 0; y < pixels.height; y += 1) {
    for (let x = 0; x < pixels.width; x += 1) {
      const [is, should] = [pixels.rgb(x, y, page), expected(x, y)];
      const same = is.every((sample, at) => Math.abs(sample - should[at]!) <= tolerance);
      if (!same) found.push({ x, y, is, should });
      if (found.length > atMost) return found;
    }
  }
  return found;
}

const LETTERS: readonly (readonly [letter: string, red: number, green: number, blue: number])[] = [
  ['R', 255, 0, 0],
  ['G', 0, 255, 0],
  ['B', 0, 0, 255],
  ['W', 255, 255, 255],
  ['K', 0, 0, 0],
];

/** The nearest of red, green, blue, white and black, or a dot for transparent pixels. */
export function letter(pixels: Pixels, x: number, y: number, page = 0): string {
  const full = pixels.deep ? 65_535 : 255;
  if (pixels.alpha(x, y, page) < full / 2) return '.';
  const [red, green, blue] = pixels.rgb(x, y, page).map((sample) => (sample / full) * 255) as [
    number,
    number,
    number,
  ];
  const distance = ([, r, g, b]: (typeof LETTERS)[number]) =>
    (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
  return LETTERS.reduce((best, next) => (distance(next) < distance(best) ? next : best))[0];
}

/** The letters in the middle of the four quarters, in reading order: `RGBW` for upright quadrants. */
export function quarters(pixels: Pixels, page = 0): string {
  const { width, height } = pixels;
  const [left, right] = [Math.floor(width / 4), Math.floor((width * 3) / 4)];
  const [top, bottom] = [Math.floor(height / 4), Math.floor((height * 3) / 4)];
  return [
    letter(pixels, left, top, page),
    letter(pixels, right, top, page),
    letter(pixels, left, bottom, page),
    letter(pixels, right, bottom, page),
  ].join('');
}
