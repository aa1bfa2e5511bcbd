const EXTENSION = 0x21;
const IMAGE = 0x2c;
/** Flag of a colour table, and mask of the exponent of its length (GIF89a, 18 and 20). */
const TABLE = 0x80;
const TABLE_SIZE = 0x07;

function tableBytes(flags: number): number {
  return flags & TABLE ? 3 * 2 ** ((flags & TABLE_SIZE) + 1) : 0;
}

/** The places of the header, of frames and of extensions, one after another. They reach beyond a truncated file. */
function* blocksOf(bytes: Uint8Array) {
  const at = (position: number) => bytes[position] ?? 0;
  let end = 13 + tableBytes(at(10));
  yield { type: 0, start: 0, end };
  while (end < bytes.length) {
    const start = end;
    const type = at(start);
    if (type === EXTENSION) end += 2;
    else if (type === IMAGE) end += 11 + tableBytes(at(start + 9));
    else return;
    while (at(end) !== 0) end += 1 + at(end);
    end += 1;
    yield { type, start, end };
  }
}

/**
 * Whether a GIF is truncated within a frame or an extension. The decoder accepts such a file without an
 * error and loses the missing frames and the lower part of the last one. A file that only lacks its
 * trailer, or has data after it, is complete.
 */
export function isTruncatedGif(bytes: Uint8Array): boolean {
  for (const { end } of blocksOf(bytes)) if (end > bytes.length) return true;
  return false;
}

const COMMENT = 0xfe;
const APPLICATION = 0xff;
const TRAILER = 0x3b;
/** Applications whose blocks are the loop count (GIF89a, 26). */
const LOOPS = ['NETSCAPE2.0', 'ANIMEXTS1.0'];

/** A GIF without comments, metadata of applications, and data after its end. The frames keep their bytes. */
export function strippedGif(bytes: Uint8Array): Uint8Array {
  const gif = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: Buffer[] = [];
  for (const { type, start, end } of blocksOf(gif)) {
    const label = gif[start + 1] ?? 0;
    const isMetadata =
      type === EXTENSION &&
      (label === COMMENT ||
        (label === APPLICATION && !LOOPS.includes(gif.toString('latin1', start + 3, start + 14))));
    if (!isMetadata) parts.push(gif.subarray(start, end));
  }
  return Buffer.concat([...parts, Buffer.from([TRAILER])]);
}
