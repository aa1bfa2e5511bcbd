const EXTENSION = 0x21;
const IMAGE = 0x2c;
/** Flag of a colour table, and mask of the exponent of its length (GIF89a, 18 and 20). */
const TABLE = 0x80;
const TABLE_SIZE = 0x07;

function tableBytes(flags: number): number {
  return flags & TABLE ? 3 * 2 ** ((flags & TABLE_SIZE) + 1) : 0;
}

/**
 * Whether a GIF is truncated within a frame or an extension. The decoder accepts such a file without an
 * error and loses the missing frames and the lower part of the last one. A file that only lacks its
 * trailer, or has data after it, is complete.
 */
export function isTruncatedGif(bytes: Uint8Array): boolean {
  const { length } = bytes;
  const at = (position: number) => bytes[position] ?? 0;
  let position = 13 + tableBytes(at(10));
  while (position < length) {
    const block = at(position);
    if (block === EXTENSION) position += 2;
    else if (block === IMAGE) position += 11 + tableBytes(at(position + 9));
    else return false;
    while (at(position) !== 0) position += 1 + at(position);
    if (position >= length) return true;
    position += 1;
  }
  return position > length;
}

const COMMENT = 0xfe;
const APPLICATION = 0xff;
const TRAILER = 0x3b;
/** Applications whose blocks are the loop count (GIF89a, 26). */
const LOOPS = ['NETSCAPE2.0', 'ANIMEXTS1.0'];

/** A GIF without comments, metadata of applications, and data after its end. The frames keep their bytes. */
export function strippedGif(bytes: Uint8Array): Uint8Array {
  const gif = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = (position: number) => gif[position] ?? 0;
  let position = 13 + tableBytes(at(10));
  const parts = [gif.subarray(0, position)];
  while (position < gif.length) {
    const start = position;
    const block = at(position);
    if (block === EXTENSION) position += 2;
    else if (block === IMAGE) position += 11 + tableBytes(at(position + 9));
    else break;
    while (at(position) !== 0) position += 1 + at(position);
    position += 1;
    const label = at(start + 1);
    const isMetadata =
      block === EXTENSION &&
      (label === COMMENT ||
        (label === APPLICATION && !LOOPS.includes(gif.toString('latin1', start + 3, start + 14))));
    if (!isMetadata) parts.push(gif.subarray(start, position));
  }
  return Buffer.concat([...parts, Buffer.from([TRAILER])]);
}
