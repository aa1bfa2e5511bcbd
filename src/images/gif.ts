const EXTENSION = 0x21;
const IMAGE = 0x2c;
/** Flag of a colour table, and mask of the exponent of its length (GIF89a, 18 and 20). */
const TABLE = 0x80;
const TABLE_SIZE = 0x07;

/**
 * Whether a GIF is truncated within a frame or an extension. The decoder accepts such a file without an
 * error and loses the missing frames and the lower part of the last one. A file that only lacks its
 * trailer, or has data after it, is complete.
 */
export function isTruncatedGif(bytes: Uint8Array): boolean {
  const { length } = bytes;
  const at = (position: number) => bytes[position] ?? 0;
  const table = (flags: number) => (flags & TABLE ? 3 * 2 ** ((flags & TABLE_SIZE) + 1) : 0);
  let position = 13 + table(at(10));
  while (position < length) {
    const block = at(position);
    if (block === EXTENSION) position += 2;
    else if (block === IMAGE) position += 11 + table(at(position + 9));
    else return false;
    while (at(position) !== 0) position += 1 + at(position);
    if (position >= length) return true;
    position += 1;
  }
  return position > length;
}
