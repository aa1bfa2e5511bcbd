import { damagedImage } from '../file-error.ts';

const HEADER_BYTES = 6;
const ENTRY_BYTES = 16;
const PNG_HEAD_BYTES = 24;

function entryAt(file: Uint8Array, view: DataView, at: number) {
  const length = view.getUint32(at + 8, true);
  const offset = view.getUint32(at + 12, true);
  const bytes = file.subarray(offset, offset + length);
  const inside = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isPng = bytes[0] === 0x89 && bytes[1] === 0x50 && bytes[2] === 0x4e && bytes[3] === 0x47;
  // Directories are often wrong, and hold 256 as 0; so the images' own sizes count.
  let width = file[at]! || 256;
  let height = file[at + 1]! || 256;
  if (isPng && bytes.length >= PNG_HEAD_BYTES) {
    width = inside.getUint32(16);
    height = inside.getUint32(20);
  } else if (!isPng && bytes.length >= 16 && inside.getUint32(0, true) >= 40) {
    width = Math.abs(inside.getInt32(4, true));
    height = Math.abs(inside.getInt32(8, true)) / 2;
  }
  return {
    /** Bytes from the header of the image on. */
    bytes,
    isPng,
    pixels: width * height,
    bits: view.getUint16(at + 6, true),
    isWhole: length > 0 && offset + length <= file.byteLength,
  };
}

/**
 * Finds the largest image of an ICO file, of equal ones that with the most colours.
 *
 * @throws Failure corrupt_image
 */
export function largestOfIco(file: Uint8Array) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const count = file.byteLength < HEADER_BYTES ? 0 : view.getUint16(4, true);
  if (count === 0) throw damagedImage('ICO', 'it contains no image');
  if (file.byteLength < HEADER_BYTES + count * ENTRY_BYTES) {
    throw damagedImage('ICO', 'it breaks off in the directory');
  }
  const entries = Array.from({ length: count }, (_, index) =>
    entryAt(file, view, HEADER_BYTES + index * ENTRY_BYTES),
  );
  const largest = entries.reduce((one, other) =>
    (other.pixels - one.pixels || other.bits - one.bits) > 0 ? other : one,
  );
  if (!largest.isWhole) throw damagedImage('ICO', 'it breaks off');
  return largest;
}

/** A square image of an icon: pixels of a side, at most 256, and red, green, blue and alpha of each pixel. */
export interface IconImage {
  readonly side: number;
  readonly rgba: Uint8Array;
}

const INFO_BYTES = 40;

/**
 * An ICO file whose images are bitmaps of 32 bits with a mask, which every program reads; images in PNG are read
 * since Windows Vista only, and by Windows itself only with 32 bits.
 */
export function writeIco(images: readonly IconImage[]): Uint8Array {
  const bitmaps = images.map(bitmapOf);
  const head = HEADER_BYTES + images.length * ENTRY_BYTES;
  const file = new Uint8Array(bitmaps.reduce((sum, { byteLength }) => sum + byteLength, head));
  const view = new DataView(file.buffer);
  view.setUint16(2, 1, true);
  view.setUint16(4, images.length, true);
  let offset = head;
  for (const [index, bitmap] of bitmaps.entries()) {
    const at = HEADER_BYTES + index * ENTRY_BYTES;
    // A byte each, in which 0 is 256.
    file[at] = images[index]!.side;
    file[at + 1] = images[index]!.side;
    view.setUint16(at + 4, 1, true);
    view.setUint16(at + 6, 32, true);
    view.setUint32(at + 8, bitmap.byteLength, true);
    view.setUint32(at + 12, offset, true);
    file.set(bitmap, offset);
    offset += bitmap.byteLength;
  }
  return file;
}

/** Rows of blue, green, red and alpha from the bottom, then a bit for each transparent pixel. */
function bitmapOf({ side, rgba }: IconImage): Uint8Array {
  const stride = Math.ceil(side / 32) * 4;
  const mask = INFO_BYTES + side * side * 4;
  const bitmap = new Uint8Array(mask + stride * side);
  const view = new DataView(bitmap.buffer);
  view.setUint32(0, INFO_BYTES, true);
  view.setInt32(4, side, true);
  // Those of the mask count.
  view.setInt32(8, side * 2, true);
  view.setUint16(12, 1, true);
  view.setUint16(14, 32, true);
  for (let y = 0; y < side; y += 1) {
    const row = side - 1 - y;
    for (let x = 0; x < side; x += 1) {
      const from = (y * side + x) * 4;
      const to = INFO_BYTES + (row * side + x) * 4;
      bitmap[to] = rgba[from + 2]!;
      bitmap[to + 1] = rgba[from + 1]!;
      bitmap[to + 2] = rgba[from]!;
      bitmap[to + 3] = rgba[from + 3]!;
      if (rgba[from + 3] === 0) bitmap[mask + row * stride + (x >> 3)]! |= 0x80 >> (x & 7);
    }
  }
  return bitmap;
}
