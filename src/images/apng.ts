const IMAGE_DATA = 'IDAT';
const ANIMATION_CONTROL = 'acTL';

/**
 * How many frames a PNG says it has: more than one where it is animated (APNG 1.0, the chunk acTL
 * before the first image data). The decoder knows nothing of it and reads the first.
 */
export function countApngFrames(bytes: Uint8Array): number {
  const { buffer, byteOffset, byteLength } = bytes;
  const png = Buffer.from(buffer, byteOffset, byteLength);
  // A signature of eight bytes, then chunks: length, name, content, check sum.
  for (let at = 8; at + 12 <= png.length; at += 12 + png.readUInt32BE(at)) {
    const name = png.toString('latin1', at + 4, at + 8);
    if (name === ANIMATION_CONTROL) return Math.max(1, png.readUInt32BE(at + 8));
    if (name === IMAGE_DATA) break;
  }
  return 1;
}
