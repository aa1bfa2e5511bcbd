import { damaged } from './dib.ts';

/** The largest image of an ICO file. */
export interface IcoImage {
  /** Bytes from its header on. */
  readonly bytes: Uint8Array;
  readonly isPng: boolean;
}

interface Entry extends IcoImage {
  readonly pixels: number;
  readonly bits: number;
  readonly isWhole: boolean;
}

const HEADER_BYTES = 6;
const ENTRY_BYTES = 16;
const PNG_HEAD_BYTES = 24;

function entryAt(file: Uint8Array, view: DataView, at: number): Entry {
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
export function largestOfIco(file: Uint8Array): IcoImage {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const count = file.byteLength < HEADER_BYTES ? 0 : view.getUint16(4, true);
  if (count === 0) throw damaged('ICO', 'it contains no image');
  if (file.byteLength < HEADER_BYTES + count * ENTRY_BYTES) {
    throw damaged('ICO', 'it breaks off in the directory');
  }
  let largest: Entry | undefined;
  for (let index = 0; index < count; index += 1) {
    const entry = entryAt(file, view, HEADER_BYTES + index * ENTRY_BYTES);
    const isLarger =
      !largest ||
      entry.pixels > largest.pixels ||
      (entry.pixels === largest.pixels && entry.bits > largest.bits);
    if (isLarger) largest = entry;
  }
  if (!largest!.isWhole) throw damaged('ICO', 'it breaks off');
  return largest!;
}
