import { createRequire } from 'node:module';
import type { Size } from '../decoding/header.ts';
import type { Sharp } from '../input.ts';
import type { Region } from './regions.ts';

/** The weights that the package `ccv` has: stages of weak classifiers over a square window. */
interface Cascade {
  readonly width: number;
  readonly stage_classifier: readonly {
    readonly threshold: number;
    /** For each feature what a window gains without it and with it. */
    readonly alpha: readonly number[];
    readonly feature: readonly Points[];
  }[];
}

/** Pixels of a feature by column, row and level: those of `p` are brighter than those of `n`. A level below 0 is unused. */
type Points = { readonly [Key in `${'p' | 'n'}${'x' | 'y' | 'z'}`]: readonly number[] };

/** Longest side of the picture that is searched: the smallest faces are a twentieth of it. */
const SIDE = 480;
/** Sizes of windows from one to its double, and pixels between windows. */
const SIZES = 6;
const STEP = 2;
/** Windows around a place that find the same face. */
const MIN_WINDOWS = 3;
/** Smaller parts of the largest face's side are patterns, or people in the background. */
const MIN_SHARE = 0.4;

interface Grey extends Size {
  readonly data: Uint8Array;
}

/** Finds faces that look at the camera, the largest first. Takes a twentieth of a second. */
export async function findFaces(frame: Sharp): Promise<readonly Region[]> {
  const { data, info } = await frame
    .clone()
    .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .greyscale()
    .toColourspace('b-w')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const windows = findWindows({ data, width, height });
  const faces: Window[] = [];
  while (windows.length > 0) {
    const best = windows.reduce((one, other) => (other.sum > one.sum ? other : one));
    const isNear = ({ x, y }: Window) =>
      Math.max(Math.abs(x - best.x), Math.abs(y - best.y)) < best.side * MIN_SHARE;
    const count = windows.filter(isNear).length;
    if (count >= MIN_WINDOWS) faces.push(best);
    windows.splice(0, windows.length, ...windows.filter((other) => !isNear(other)));
  }
  faces.sort((one, other) => other.side - one.side);
  return faces
    .filter(({ side }) => side >= faces[0]!.side * MIN_SHARE)
    .map(({ x, y, side }) => ({
      ...{ x: x / width, y: y / height },
      ...{ width: side / width, height: side / height },
    }));
}

/** A window that all stages accept, by its middle. */
interface Window {
  readonly x: number;
  readonly y: number;
  readonly side: number;
  /** Votes of the last stage. */
  readonly sum: number;
}

function findWindows(picture: Grey): Window[] {
  const cascade: Cascade = createRequire(import.meta.url)('ccv/js/face.js');
  const { width: side } = cascade;
  const found: Window[] = [];
  // Halved step by step, since sampling a large picture directly would skip pixels.
  let base = picture;
  for (let size = 0; ; size += 1) {
    const scale = 2 ** (size / SIZES);
    const width = Math.floor(picture.width / scale);
    const height = Math.floor(picture.height / scale);
    if (Math.min(width, height) < side) return found;
    if (size > 0 && size % SIZES === 0) base = sampled(base, base.width >> 1, base.height >> 1);
    const level = sampled(base, width, height);
    const accepts = windowTest(cascade, level);
    for (let y = 0; y + side <= height; y += STEP) {
      for (let x = 0; x + side <= width; x += STEP) {
        const sum = accepts(y * width + x);
        if (sum === null) continue;
        const half = side / 2;
        found.push({ x: (x + half) * scale, y: (y + half) * scale, side: side * scale, sum });
      }
    }
  }
}

/** The test of the windows of one picture by their first pixel: the votes, or null where a stage rejects it. */
function windowTest(cascade: Cascade, level: Grey): (at: number) => number | null {
  const { width } = level;
  const half = averaged(level, 1);
  const planes = [level.data, half, averaged({ ...level, data: half }, 2)];
  /** Levels and distances in turn, so that one array is read. */
  const places = (x: readonly number[], y: readonly number[], z: readonly number[]) =>
    z.flatMap((level, index) =>
      level < 0 ? [] : [level, (x[index]! + y[index]! * width) << level],
    );
  const stages = cascade.stage_classifier.map(({ threshold, alpha, feature }) => ({
    ...{ threshold, alpha },
    features: feature.map(({ px, py, pz, nx, ny, nz }) => ({
      bright: places(px, py, pz),
      dark: places(nx, ny, nz),
    })),
  }));
  return (at) => {
    let sum = 0;
    for (const { threshold, alpha, features } of stages) {
      sum = 0;
      for (let index = 0; index < features.length; index += 1) {
        const { bright, dark } = features[index]!;
        let [least, most] = [256, -1];
        for (let place = 0; place < bright.length; place += 2) {
          const value = planes[bright[place]!]![at + bright[place + 1]!]!;
          if (value < least) least = value;
        }
        for (let place = 0; place < dark.length && most < least; place += 2) {
          const value = planes[dark[place]!]![at + dark[place + 1]!]!;
          if (value > most) most = value;
        }
        sum += alpha[index * 2 + (least > most ? 1 : 0)]!;
      }
      if (sum < threshold) return null;
    }
    return sum;
  };
}

/** The mean of each pixel and of those at a distance to the right and below. */
function averaged({ data, width }: Grey, distance: number): Uint8Array {
  const mean = new Uint8Array(data.length);
  const below = distance * width;
  for (let at = 0; at + below + distance < data.length; at += 1) {
    const sum = data[at]! + data[at + distance]! + data[at + below]! + data[at + below + distance]!;
    mean[at] = (sum + 2) >> 2;
  }
  return mean;
}

/** A picture at another size, by linear interpolation. */
function sampled({ data, width: from, height: down }: Grey, width: number, height: number): Grey {
  const sample = new Uint8Array(width * height);
  const place = (index: number, length: number, all: number) =>
    Math.min(all - 1.001, Math.max(0, ((index + 0.5) * all) / length - 0.5));
  for (let y = 0; y < height; y += 1) {
    const top = place(y, height, down);
    const low = top % 1;
    for (let x = 0; x < width; x += 1) {
      const left = place(x, width, from);
      const right = left % 1;
      const at = Math.floor(top) * from + Math.floor(left);
      const above = data[at]! * (1 - right) + data[at + 1]! * right;
      const below = data[at + from]! * (1 - right) + data[at + from + 1]! * right;
      sample[y * width + x] = above * (1 - low) + below * low + 0.5;
    }
  }
  return { data: sample, width, height };
}
