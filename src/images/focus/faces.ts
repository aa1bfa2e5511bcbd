import { createRequire } from 'node:module';
import type { ImageInput, Sharp } from '../input.ts';
import type { Region } from './regions.ts';

/**
 * The weights that the package `ccv` has: stages of features. A feature compares pixels by column, row and level; those
 * of `p` are brighter than those of `n` in a face. Levels below 0 are unused.
 */
interface Stage {
  readonly threshold: number;
  /** For each feature what a window gets without it and with it. */
  readonly alpha: readonly number[];
  readonly feature: readonly Readonly<Record<'px' | 'py' | 'pz' | 'nx' | 'ny' | 'nz', number[]>>[];
}

/** Longest side of the picture that is searched: the smallest faces are a twentieth of it. */
const SIDE = 480;
/** Side of the window that the weights are for, factor between its sizes, pixels between windows. */
const WINDOW = 24;
const FACTOR = 2 ** (1 / 6);
const STEP = 2;
/** Windows around a place that find the same face. */
const MIN_WINDOWS = 3;
/** Smaller parts of the largest face's side are patterns, or people in the background. */
const MIN_SHARE = 0.4;

/** Finds faces that look at the camera, the largest first. Takes about 0.3 s of CPU. */
export async function findFaces({ sharp }: ImageInput, frame: Sharp): Promise<Region[]> {
  const { data, info } = await frame
    .clone()
    .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .greyscale()
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const { stage_classifier: stages } = createRequire(import.meta.url)('ccv/js/face.js');
  const windows: (Region & { readonly sum: number })[] = [];
  for (let scale = 1; Math.min(width, height) >= WINDOW * scale; scale *= FACTOR) {
    const size = { width: Math.floor(width / scale), height: Math.floor(height / scale) };
    const share = { width: (WINDOW * scale) / width, height: (WINDOW * scale) / height };
    const level = sharp(data, { raw: { width, height, channels } }).extractChannel(0).raw();
    const pixels = await level.resize({ ...size, fit: 'fill' }).toBuffer();
    const accepts = windowTest(stages, pixels, size.width);
    for (let y = 0; y + WINDOW <= size.height; y += STEP) {
      for (let x = 0; x + WINDOW <= size.width; x += STEP) {
        const sum = accepts(y * size.width + x);
        const middle = { x: (x + WINDOW / 2) / size.width, y: (y + WINDOW / 2) / size.height };
        if (sum !== null) windows.push({ ...middle, ...share, sum });
      }
    }
  }
  windows.sort((one, other) => other.sum - one.sum);
  const faces: Region[] = [];
  for (let best = windows[0]; best; best = windows[0]) {
    const { x, y, width: across, height: down } = best;
    const far = windows.filter(
      (other) =>
        Math.max(Math.abs(other.x - x) / across, Math.abs(other.y - y) / down) >= MIN_SHARE,
    );
    if (windows.length - far.length >= MIN_WINDOWS) faces.push(best);
    windows.splice(0, windows.length, ...far);
  }
  faces.sort((one, other) => other.width - one.width);
  return faces.filter((face) => face.width >= faces[0]!.width * MIN_SHARE);
}

/** The test of the windows of one picture by their first pixel: the votes, or null where a stage rejects it. */
function windowTest(stages: readonly Stage[], pixels: Uint8Array, width: number) {
  const half = averaged(pixels, width, 1);
  const levels = [pixels, half, averaged(half, width, 2)];
  /** Levels and distances in turn. */
  const places = (x: readonly number[], y: readonly number[], z: readonly number[]) =>
    z.flatMap((level, at) => (level < 0 ? [] : [level, (x[at]! + y[at]! * width) << level]));
  const compiled = stages.map(({ threshold, alpha, feature }) => ({
    ...{ threshold, alpha },
    bright: feature.map(({ px, py, pz }) => places(px, py, pz)),
    dark: feature.map(({ nx, ny, nz }) => places(nx, ny, nz)),
  }));
  return (at: number): number | null => {
    let sum = 0;
    for (const { threshold, alpha, bright, dark } of compiled) {
      sum = 0;
      for (let feature = 0; feature < bright.length; feature += 1) {
        let least = 256;
        let most = -1;
        const above = bright[feature]!;
        const below = dark[feature]!;
        for (let place = 0; place < above.length; place += 2) {
          least = Math.min(least, levels[above[place]!]![at + above[place + 1]!]!);
        }
        for (let place = 0; place < below.length && most < least; place += 2) {
          most = Math.max(most, levels[below[place]!]![at + below[place + 1]!]!);
        }
        sum += alpha[feature * 2 + (least > most ? 1 : 0)]!;
      }
      if (sum < threshold) return null;
    }
    return sum;
  };
}

/** The mean of each pixel and of those at a distance to the right and below; 0 beyond the last. */
function averaged(pixels: Uint8Array, width: number, distance: number): Uint8Array {
  const next = distance * width;
  const pair = (at: number) => pixels[at]! + pixels[at + distance]!;
  return pixels.map((_, at) => (pair(at) + pair(at + next)) >> 2);
}
