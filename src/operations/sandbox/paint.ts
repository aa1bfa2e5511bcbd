import type { Size } from '../../images/decoding/header.ts';
import { type Colour, mix, pixelOf, type Scene } from './scene.ts';

/**
 * Paints a scene as opaque RGBA pixels. Everything but the sun is looked up by row and column, so that a
 * pixel takes a few nanoseconds.
 *
 * @param time position in a film, from 0 to 1: the sun rises a little and the hills move
 */
export function paint(scene: Scene, size: Size, time = 0): Uint8Array {
  const pixels = new Uint32Array(size.width * size.height);
  const skies = paintSky(pixels, scene, size);
  const sun = { ...scene.sun, y: scene.sun.y - 0.2 * time, x: scene.sun.x + 0.05 * time };
  paintStars(pixels, scene, skies, size);
  paintSun(pixels, sun, skies, size);
  for (const hills of scene.hills) paintHills(pixels, hills, time, size);
  drawWatermark(pixels, size);
  return new Uint8Array(pixels.buffer);
}

/** Paints the sky. @returns the colour of each row */
function paintSky(pixels: Uint32Array, { sky }: Scene, { width, height }: Size): Colour[] {
  const { top, middle, foot } = sky;
  return Array.from({ length: height }, (_, row) => {
    // Hills hide the lower part.
    const at = Math.min(1, row / (height * 0.75));
    const colour = at < 0.5 ? mix(top, middle, at * 2) : mix(middle, foot, at * 2 - 1);
    pixels.fill(pixelOf(colour), row * width, (row + 1) * width);
    return colour;
  });
}

function paintStars(
  pixels: Uint32Array,
  { stars }: Scene,
  skies: readonly Colour[],
  { width, height }: Size,
): void {
  const side = Math.max(1, Math.round(Math.min(width, height) / 400));
  for (const { x, y, light } of stars) {
    const column = Math.floor(x * Math.max(0, width - side));
    const first = Math.floor(y * Math.max(0, height - side));
    for (let row = first; row < Math.min(height, first + side); row += 1) {
      const pixel = pixelOf(mix(skies[row]!, [255, 255, 255], light));
      pixels.fill(pixel, row * width + column, row * width + Math.min(width, column + side));
    }
  }
}

/** Radius of the glow, in radii of the sun. */
const GLOW = 5;

function paintSun(
  pixels: Uint32Array,
  { x, y, radius: share, colour, glow }: Scene['sun'],
  skies: readonly Colour[],
  { width, height }: Size,
): void {
  const radius = Math.max(1, share * Math.min(width, height));
  const reach = radius * GLOW;
  const centre = { x: x * width, y: y * height };
  const rows = clamped(centre.y - reach, centre.y + reach, height);
  const columns = clamped(centre.x - reach, centre.x + reach, width);
  const disc = pixelOf(colour);
  for (let row = rows.from; row < rows.to; row += 1) {
    const sky = skies[row]!;
    // The glow has steps that are too small to see, because mixing a colour for each pixel is slow.
    const steps = Array.from({ length: 65 }, (_, step) => pixelOf(mix(sky, glow, step / 64)));
    for (let column = columns.from; column < columns.to; column += 1) {
      const distance = Math.sqrt((column - centre.x) ** 2 + (row - centre.y) ** 2);
      if (distance <= radius) pixels[row * width + column] = disc;
      else if (distance < reach) {
        const light = (reach - distance) / (reach - radius);
        pixels[row * width + column] = steps[Math.round(light * light * 45)]!;
      }
    }
  }
}

function clamped(from: number, to: number, most: number): { from: number; to: number } {
  return { from: Math.max(0, Math.floor(from)), to: Math.min(most, Math.ceil(to)) };
}

function paintHills(
  pixels: Uint32Array,
  { base, waves, crest, foot, drift }: Scene['hills'][number],
  time: number,
  { width, height }: Size,
): void {
  const tops = new Uint32Array(width);
  let highest = height;
  for (let column = 0; column < width; column += 1) {
    const at = column / width + drift * time;
    let top = base;
    for (const wave of waves) {
      top -= wave.height * (0.5 + 0.5 * Math.sin(wave.frequency * at * 2 + wave.phase));
    }
    tops[column] = Math.max(0, Math.floor(top * height));
    highest = Math.min(highest, tops[column]!);
  }
  for (let row = highest; row < height; row += 1) {
    const pixel = pixelOf(mix(crest, foot, (row - highest) / Math.max(1, height - highest)));
    const start = row * width;
    for (let column = 0; column < width; column += 1) {
      if (row >= tops[column]!) pixels[start + column] = pixel;
    }
  }
}

/** The word SANDBOX as a bitmap, five by seven dots per letter. */
const LETTERS = [
  ['.####', '#....', '#....', '.###.', '....#', '....#', '####.'],
  ['.###.', '#...#', '#...#', '#####', '#...#', '#...#', '#...#'],
  ['#...#', '##..#', '#.#.#', '#..##', '#...#', '#...#', '#...#'],
  ['####.', '#...#', '#...#', '#...#', '#...#', '#...#', '####.'],
  ['####.', '#...#', '#...#', '####.', '#...#', '#...#', '####.'],
  ['.###.', '#...#', '#...#', '#...#', '#...#', '#...#', '.###.'],
  ['#...#', '#...#', '.#.#.', '..#..', '.#.#.', '#...#', '#...#'],
] as const;

const WIDE = LETTERS.length * 6 - 1;
const TALL = 7;
/** Dots between the watermark and the edge of the picture. */
const MARGIN = 5;

/** Draws SANDBOX small into the lower left corner, so that the picture is not mistaken for a real one. */
function drawWatermark(pixels: Uint32Array, { width, height }: Size): void {
  if (width < WIDE + 2 * MARGIN || height < TALL + 2 * MARGIN) return;
  const dot = Math.max(1, Math.floor(Math.min(width / 4 / WIDE, height / 24 / TALL)));
  const left = MARGIN * dot;
  const top = height - (MARGIN + TALL) * dot;
  const fill = (column: number, row: number, pixel: number) => {
    for (let y = row; y < row + dot; y += 1) {
      pixels.fill(pixel, y * width + column, y * width + column + dot);
    }
  };
  const dots = LETTERS.flatMap((rows, letter) =>
    rows.flatMap((row, y) =>
      Array.from(row, (mark, x) => ({ x: letter * 6 + x, y, set: mark === '#' })),
    ),
  ).filter(({ set }) => set);
  const shadow = pixelOf([20, 22, 28]);
  const light = pixelOf([245, 246, 248]);
  const depth = Math.max(1, Math.floor(dot / 2));
  for (const { x, y } of dots) fill(left + x * dot + depth, top + y * dot + depth, shadow);
  for (const { x, y } of dots) fill(left + x * dot, top + y * dot, light);
}
