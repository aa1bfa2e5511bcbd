const EXTENSION = 0x21;
const IMAGE = 0x2c;
/** The flag of a colour table, and the exponent of its length (GIF89a, 18 and 20). */
const TABLE = 0x80;
const TABLE_SIZE = 0x07;

/**
 * Whether a GIF breaks off within a frame or an extension. Its decoder shows what there is of such
 * a file: the frames that are missing, and the lower part of the last, would be lost unnoticed. A
 * file that merely lacks its trailer is whole, and so is one with anything after it.
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
