import { TiffBlock } from '../exif/tiff-block.ts';
import { isKind } from './metadata.ts';
import { MARKER, readSegment, splitJpeg } from './segments.ts';

/** The tag of the list of pictures, and the bytes of an entry (CIPA DC-007, 5.2.3.3). */
const ENTRIES = 0xb002;
const ENTRY_BYTES = 16;

/**
 * Corrects the places of further pictures, such as gain maps, that follow the first one. They count from the start of
 * their own segment, which may have moved otherwise than the pictures.
 *
 * @param before the file that was changed
 * @param after the result, corrected in place
 * @param trailer bytes after the first picture, the same in both
 */
export function correctPictures(before: Uint8Array, after: Buffer, trailer: number): void {
  const [former, list] = [listOf(before), listOf(after)];
  if (!former || !list || trailer === 0) return;
  const { view, littleEndian, start, end } = list;
  const grown = after.length - before.length;
  const moved = list.place - former.place;
  for (let at = start; at + ENTRY_BYTES <= end; at += ENTRY_BYTES) {
    const add = (place: number, difference: number) =>
      view.setUint32(place, view.getUint32(place, littleEndian) + difference, littleEndian);
    // The first picture has offset 0.
    if (view.getUint32(at + 8, littleEndian) === 0) add(at + 4, grown);
    else add(at + 8, grown - moved);
  }
}

/** The list of pictures: its place in the file, its bytes, and the bounds of the entries in them. */
function listOf(file: Uint8Array) {
  const segment = splitJpeg(file).segments.find((one) => isKind(one, 'pictures'));
  if (!segment) return null;
  const data = segment.data.subarray(4);
  const block = TiffBlock.open(data);
  const field = block?.directory(block.start)?.get(ENTRIES);
  if (!block || !field) return null;
  return {
    place: data.byteOffset - file.byteOffset,
    view: new DataView(data.buffer, data.byteOffset, data.length),
    littleEndian: block.littleEndian,
    start: field.offset,
    end: field.offset + field.count * field.type.bytes,
  };
}

/** The picture after the first one; null where there is none. */
export function secondPicture(file: Uint8Array): Uint8Array | null {
  const list = listOf(file);
  if (!list || list.end - list.start < 2 * ENTRY_BYTES) return null;
  const { view, littleEndian } = list;
  const at = list.start + ENTRY_BYTES;
  const start = list.place + view.getUint32(at + 8, littleEndian);
  return file.subarray(start, start + view.getUint32(at + 4, littleEndian));
}

/** What a file with a gain map contains: Adobe's, ISO 21496-1 and Apple's, which is in the second picture. */
const GAIN_MAPS = ['http://ns.adobe.com/hdr-gain-map/', 'urn:iso:std:iso:ts:21496', 'HDRGainMap'];

/** Whether a gain map follows the picture, also one that libvips does not read, such as Apple's before iOS 18. */
export function hasGainMap(file: Uint8Array): boolean {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  try {
    for (let at = 2; ; ) {
      const segment = readSegment(bytes, at);
      if (segment.marker === MARKER.SOS || segment.marker === MARKER.EOI) return false;
      if (isKind(segment, 'pictures')) return GAIN_MAPS.some((mark) => bytes.includes(mark));
      at = segment.end;
    }
  } catch {
    // The decoder reports damage, where it finds any.
    return false;
  }
}
