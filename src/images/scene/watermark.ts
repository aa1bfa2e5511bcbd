import { pixelOf } from './colour.ts';

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
export function drawWatermark(
  pixels: Uint32Array,
  { width, height }: { readonly width: number; readonly height: number },
): void {
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
