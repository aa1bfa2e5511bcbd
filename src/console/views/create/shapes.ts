import type { Kind } from './draft.ts';

/** A size to choose, drawn as a rectangle. */
export interface Shape {
  /** Value of the field `size`. */
  readonly value: string;
  /** `3:2` */
  readonly ratio: string;
  /** `1536×1024`; null for a ratio alone. */
  readonly pixels: string | null;
  /** Of the rectangle, from 0 to 1: the longest side of the group is 1. */
  readonly width: number;
  readonly height: number;
}

/** Ratios for models whose sizes only the provider knows. */
const RATIOS: Readonly<Record<Exclude<Kind, 'audio'>, readonly string[]>> = {
  image: ['1:1', '4:3', '3:2', '16:9', '3:4', '2:3', '9:16'],
  video: ['16:9', '4:3', '1:1', '3:4', '9:16'],
};

/** The sizes of a model as shapes, in the order of the catalog. */
export function shapesOf(kind: Kind, sizes: readonly string[] | null): readonly Shape[] {
  if (kind === 'audio') return [];
  const known = sizes === null ? RATIOS[kind] : sizes;
  const sides = known.flatMap((value) => {
    const read = sidesOf(value);
    return read === null ? [] : [{ value, ...read }];
  });
  const isRatio = sizes === null;
  const longest = Math.max(...sides.map(({ width, height }) => Math.max(width, height)));
  return sides.map(({ value, width, height }) => {
    // Ratios have equal areas, so that none looks larger than another.
    const scale = isRatio ? 0.75 / Math.sqrt(width * height) : 1 / longest;
    return {
      value,
      ratio: ratioOf(width, height),
      pixels: isRatio ? null : `${width}×${height}`,
      width: Math.min(1, width * scale),
      height: Math.min(1, height * scale),
    };
  });
}

/** Width and height of `1536x1024` or `3:2`; null for anything else. */
function sidesOf(size: string): { readonly width: number; readonly height: number } | null {
  const [, width, height] = /^(\d{1,9}(?:\.\d+)?)[x:](\d{1,9}(?:\.\d+)?)$/i.exec(size) ?? [];
  const sides = { width: Number(width), height: Number(height) };
  return sides.width > 0 && sides.height > 0 ? sides : null;
}

/** The ratio of two whole sides in its lowest terms. */
function ratioOf(width: number, height: number): string {
  let [a, b] = [width, height];
  while (b > 0) [a, b] = [b, a % b];
  return `${width / a}:${height / a}`;
}
