/** Filter types of a PNG's rows (ISO 15948, 9.2). */
const FILTERS = [0, 1, 2, 3, 4] as const;

/** Filters of all rows: one type, or for each row the one with the least sum of differences (12.8). */
export type FilterStrategy = (typeof FILTERS)[number] | 'adaptive';

/**
 * Filters rows of samples for compression.
 *
 * @param rows one after the other, without filter types
 * @param stride bytes of a row
 * @param unit bytes of a pixel, at least 1
 */
export function filterRows(
  rows: Uint8Array,
  stride: number,
  unit: number,
  strategy: FilterStrategy,
): Uint8Array {
  const height = rows.length / stride;
  const filtered = new Uint8Array((stride + 1) * height);
  const trial = new Uint8Array(stride);
  let previous: Uint8Array = new Uint8Array(stride);
  for (let y = 0; y < height; y += 1) {
    const row = rows.subarray(y * stride, (y + 1) * stride);
    const at = y * (stride + 1);
    const out = filtered.subarray(at + 1, at + 1 + stride);
    if (strategy !== 'adaptive') {
      filtered[at] = strategy;
      filterRow(strategy, row, previous, unit, out);
    } else {
      let least = Number.POSITIVE_INFINITY;
      for (const type of FILTERS) {
        filterRow(type, row, previous, unit, trial);
        const sum = sumOfDifferences(trial);
        if (sum >= least) continue;
        least = sum;
        filtered[at] = type;
        out.set(trial);
      }
    }
    previous = row;
  }
  return filtered;
}

function sumOfDifferences(row: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < row.length; at += 1) {
    const value = row[at]!;
    sum += value < 128 ? value : 256 - value;
  }
  return sum;
}

function filterRow(
  type: (typeof FILTERS)[number],
  row: Uint8Array,
  above: Uint8Array,
  unit: number,
  out: Uint8Array,
): void {
  const { length } = row;
  switch (type) {
    case 0:
      out.set(row);
      return;
    case 1:
      for (let at = 0; at < length; at += 1) out[at] = row[at]! - (at < unit ? 0 : row[at - unit]!);
      return;
    case 2:
      for (let at = 0; at < length; at += 1) out[at] = row[at]! - above[at]!;
      return;
    case 3:
      for (let at = 0; at < length; at += 1) {
        out[at] = row[at]! - (((at < unit ? 0 : row[at - unit]!) + above[at]!) >> 1);
      }
      return;
    case 4:
      for (let at = 0; at < length; at += 1) {
        const left = at < unit ? 0 : row[at - unit]!;
        const up = above[at]!;
        const corner = at < unit ? 0 : above[at - unit]!;
        const fromLeft = Math.abs(up - corner);
        const fromUp = Math.abs(left - corner);
        const fromCorner = Math.abs(left + up - 2 * corner);
        const paeth =
          fromLeft <= fromUp && fromLeft <= fromCorner ? left : fromUp <= fromCorner ? up : corner;
        out[at] = row[at]! - paeth;
      }
  }
}
