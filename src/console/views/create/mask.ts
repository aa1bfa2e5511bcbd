/** A line drawn with a round brush, or a rectangle. */
export interface MaskShape {
  /** x and y of the points of the line, or of two opposite corners, in pixels of the image. */
  readonly points: readonly number[];
  /** Of the brush; null for a rectangle. */
  readonly radius: number | null;
  readonly isErased: boolean;
}

/** Where an image is to change: shapes that are painted or erased one after another. */
export interface Mask {
  /** Of the image, in pixels. */
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly MaskShape[];
}

/** Whether a mask changes anything. @param mask drawn here, or an address */
export function isDrawn(mask: Mask | string | null): boolean {
  return typeof mask === 'string' || (mask !== null && mask.shapes.length > 0);
}

/** A mask of an image of another size. */
export function scaledMask({ width, height, shapes }: Mask, factor: number): Mask {
  const scaled = ({ points, radius, isErased }: MaskShape): MaskShape => ({
    points: points.map((value) => value * factor),
    radius: radius === null ? null : radius * factor,
    isErased,
  });
  const side = (length: number) => Math.max(1, Math.round(length * factor));
  return { width: side(width), height: side(height), shapes: shapes.map(scaled) };
}

/** Alpha of each pixel, row by row: 0 where the image is to change, 255 where it stays. */
export function alphaOf({ width, height, shapes }: Mask): Uint8Array {
  const alpha = new Uint8Array(width * height).fill(255);
  /** Fills the pixels of a row whose centres are between two positions. */
  const fill = (row: number, left: number, right: number, value: number) => {
    const first = Math.max(0, Math.ceil(left - 0.5));
    const last = Math.min(width - 1, Math.floor(right - 0.5));
    if (first <= last) alpha.fill(value, row * width + first, row * width + last + 1);
  };
  const rowsOf = (top: number, bottom: number): readonly [first: number, last: number] => [
    Math.max(0, Math.ceil(top - 0.5)),
    Math.min(height - 1, Math.floor(bottom - 0.5)),
  ];
  for (const { points, radius, isErased } of shapes) {
    const value = isErased ? 255 : 0;
    if (radius === null) {
      const [left, top, right, bottom] = points as [number, number, number, number];
      const [first, last] = rowsOf(top, bottom);
      for (let row = first; row <= last; row += 1) fill(row, left, right, value);
      continue;
    }
    for (let at = 0; at < points.length; at += 2) {
      const from: Point = [points[Math.max(0, at - 2)]!, points[Math.max(1, at - 1)]!];
      const to: Point = [points[at]!, points[at + 1]!];
      const [first, last] = rowsOf(
        Math.min(from[1], to[1]) - radius,
        Math.max(from[1], to[1]) + radius,
      );
      for (let row = first; row <= last; row += 1) {
        const range = capsuleRange(from, to, radius, row + 0.5);
        if (range) fill(row, range[0], range[1], value);
      }
    }
  }
  return alpha;
}

type Point = readonly [x: number, y: number];

/**
 * Where a horizontal line crosses a line segment of round ends: a convex shape, so that the crossing is one
 * interval. Null where they do not meet.
 */
function capsuleRange(from: Point, to: Point, radius: number, y: number): Point | null {
  let left = Number.POSITIVE_INFINITY;
  let right = Number.NEGATIVE_INFINITY;
  const include = (x: number) => {
    left = Math.min(left, x);
    right = Math.max(right, x);
  };
  for (const [x, centre] of [from, to]) {
    const squared = radius ** 2 - (y - centre) ** 2;
    if (squared < 0) continue;
    include(x - Math.sqrt(squared));
    include(x + Math.sqrt(squared));
  }
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length > 0) {
    const [nx, ny] = [(-dy / length) * radius, (dx / length) * radius];
    // The two sides of the segment that are parallel to it.
    for (const sign of [1, -1]) {
      const [startY, endY] = [from[1] + sign * ny, to[1] + sign * ny];
      if (startY === endY || (y - startY) * (y - endY) > 0) continue;
      include(from[0] + sign * nx + (dx * (y - startY)) / (endY - startY));
    }
  }
  return left <= right ? [left, right] : null;
}

/** Longest side at which the share is counted. */
const COUNTED_SIDE = 400;

/** Share of the image that is to change, from 0 to 1. */
export function shareOf(mask: Mask): number {
  const factor = Math.min(1, COUNTED_SIDE / Math.max(mask.width, mask.height));
  const alpha = alphaOf(scaledMask(mask, factor));
  let changed = 0;
  for (const value of alpha) changed += value === 0 ? 1 : 0;
  return changed / alpha.length;
}
