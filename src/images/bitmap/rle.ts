/**
 * Expands rows of run-length encoded indices, the lowest row first. Pixels that are skipped have the index 0.
 * The position only moves on, so that the work is bounded by the bytes and the pixels, whatever they say.
 *
 * @returns an index for each pixel, row by row from the top; null where the data breaks off
 */
export function expandRle(
  bytes: Uint8Array,
  { width, height, compression }: { width: number; height: number; compression: 'rle8' | 'rle4' },
): Uint8Array | null {
  const isNibble = compression === 'rle4';
  const indices = new Uint8Array(width * height);
  let x = 0;
  let y = 0;
  let at = 0;
  /** Writes pixels up to the end of the row. */
  const write = (count: number, indexOf: (pixel: number) => number) => {
    const row = (height - 1 - y) * width;
    const visible = Math.min(count, width - x);
    for (let pixel = 0; pixel < visible; pixel += 1) indices[row + x + pixel] = indexOf(pixel);
    x += count;
  };
  const nibble = (value: number, pixel: number) => (pixel % 2 === 0 ? value >> 4 : value & 15);
  while (y < height) {
    if (at + 2 > bytes.length) return y === height - 1 && x >= width ? indices : null;
    const count = bytes[at]!;
    const value = bytes[at + 1]!;
    at += 2;
    if (count > 0) {
      write(count, (pixel) => (isNibble ? nibble(value, pixel) : value));
    } else if (value === 0) {
      x = 0;
      y += 1;
    } else if (value === 1) {
      return indices;
    } else if (value === 2) {
      if (at + 2 > bytes.length) return null;
      x += bytes[at]!;
      y += bytes[at + 1]!;
      at += 2;
    } else {
      const length = isNibble ? Math.ceil(value / 2) : value;
      if (at + length > bytes.length) return null;
      const start = at;
      write(value, (pixel) =>
        isNibble ? nibble(bytes[start + (pixel >> 1)]!, pixel) : bytes[start + pixel]!,
      );
      at += length + (length % 2);
    }
  }
  return indices;
}
