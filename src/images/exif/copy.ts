import { iptcOf, iptcResource } from './photoshop.ts';
import { DIRECTORY_TAGS, IMAGE_AND_PHOTO_TAGS, isFileTag, isText } from './tags.ts';
import { type Field, type Fields, openExif, readDirectories, TiffBlock } from './tiff-block.ts';

const HEADER = Buffer.from('II*\0\0\0\0\0', 'latin1');
const ROW_BYTES = 12;
/** Tags of Photoshop's image resources and of IPTC, and the first byte of a record of IPTC. */
export const RESOURCES = 34_377;
export const IPTC = 33_723;
const IPTC_MARK = 0x1c;
/** Types of fields. */
const BYTE = 1;
const ASCII = 2;
const SHORT = 3;
const LONG = 4;
const RATIONAL = 5;
const UNDEFINED = 7;

/** The EXIF of a TIFF file as a separate little-endian block; null if it has none. */
export function exifOfTiff(tiff: Uint8Array): Uint8Array | null {
  const writer = new DirectoryWriter(HEADER.length);
  const rows = writer.copy(tiff);
  if (rows.size === 0) return null;
  const start = writer.directory(rows);
  const block = Buffer.concat([HEADER, ...writer.parts]);
  block.writeUInt32LE(start, 4);
  return block;
}

/** Photoshop's image resources of a TIFF file, or its IPTC as one; null where it has neither. */
export function photoshopOfTiff(tiff: Uint8Array): Buffer | null {
  const block = TiffBlock.open(tiff);
  const fields = block?.directory(block.start);
  const bytesOf = (tag: number) => {
    const field = fields?.get(tag);
    const bytes = field && block!.bytes(field, field.count * field.type.bytes);
    return bytes ? Buffer.from(bytes) : null;
  };
  const resources = bytesOf(RESOURCES);
  if (resources && iptcOf(resources)) return resources;
  const records = bytesOf(IPTC);
  if (records === null) return resources;
  // Some writers swap its bytes, since its type is one of numbers.
  if (records[0] !== IPTC_MARK && records.length % 4 === 0) records.swap32();
  if (records[0] !== IPTC_MARK) return resources;
  return Buffer.concat([iptcResource(records), resources ?? Buffer.alloc(0)]);
}

/** Metadata that libvips does not write to TIFF. */
export interface TiffMetadata {
  readonly exif: Uint8Array | null;
  /** Photoshop's image resources, whose IPTC gets a tag of its own. */
  readonly photoshop: Buffer | null;
}

/**
 * A little-endian TIFF file with metadata added to its first directory. The new directory is appended, so that all
 * other offsets of the file stay valid.
 */
export function tiffWithMetadata(file: Uint8Array, { exif, photoshop }: TiffMetadata): Buffer {
  const tiff = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const padding = Buffer.alloc(tiff.length % 2);
  const writer = new DirectoryWriter(tiff.length + padding.length);
  const rows: Rows = exif ? writer.copy(exif) : new Map();
  const former = tiff.readUInt32LE(4);
  const end = former + 2 + tiff.readUInt16LE(former) * ROW_BYTES;
  for (let at = former + 2; at < end; at += ROW_BYTES) {
    rows.set(tiff.readUInt16LE(at), tiff.subarray(at, at + ROW_BYTES));
  }
  if (photoshop) writer.addPhotoshop(rows, photoshop);
  const start = writer.directory(rows, tiff.readUInt32LE(end));
  const whole = Buffer.concat([tiff, padding, ...writer.parts]);
  whole.writeUInt32LE(start, 4);
  return whole;
}

/** Encoded entries of a directory, by tag. */
export type Rows = Map<number, Buffer>;

/** Writes little-endian directories with the values that they point to. */
export class DirectoryWriter {
  readonly parts: Buffer[] = [];
  #position: number;

  /** @param position offset of the first part in the file, an even number */
  constructor(position: number) {
    this.#position = position;
  }

  #write(part: Buffer): number {
    const position = this.#position;
    this.parts.push(part, Buffer.alloc(part.length % 2));
    this.#position += part.length + (part.length % 2);
    return position;
  }

  /** Writes a directory and returns its offset. */
  directory(rows: Rows, next = 0): number {
    const sorted = [...rows].sort(([one], [other]) => one - other).map(([, row]) => row);
    const head = Buffer.alloc(2);
    head.writeUInt16LE(sorted.length);
    const tail = Buffer.alloc(4);
    tail.writeUInt32LE(next);
    return this.#write(Buffer.concat([head, ...sorted, tail]));
  }

  /**
   * Copies the tags that describe the picture from a TIFF structure. Returns the entries of its first
   * directory without those that describe the file itself; writes all other directories.
   */
  copy(bytes: Uint8Array): Rows {
    const block = openExif(bytes);
    const found = block && readDirectories(block);
    if (!found) return new Map();
    const rows = (fields: Fields) => {
      const rows: Rows = new Map();
      for (const [tag, field] of fields) {
        if (!POINTERS.has(tag)) this.#copyField(rows, block, tag, field);
      }
      return rows;
    };
    const link = (from: Rows, tag: number, to: Rows) => {
      if (to.size > 0) from.set(tag, row(tag, LONG, 1, this.directory(to)));
    };
    const photo = rows(found.photo);
    link(photo, DIRECTORY_TAGS.interop, rows(found.interop));
    const image: Rows = new Map();
    for (const [tag, field] of found.image) {
      if (IMAGE_AND_PHOTO_TAGS[tag] !== undefined && !isFileTag(tag)) {
        this.#copyFirstField(image, block, tag, field);
      }
    }
    link(image, DIRECTORY_TAGS.photo, photo);
    link(image, DIRECTORY_TAGS.gps, rows(found.gps));
    return image;
  }

  addPhotoshop(rows: Rows, resources: Buffer): void {
    this.#add(rows, { tag: RESOURCES, code: BYTE, count: resources.length, value: resources });
    const records = iptcOf(resources);
    if (records === null) return;
    // libtiff wants the type LONG, of four bytes.
    const value = Buffer.concat([records, Buffer.alloc((4 - (records.length % 4)) % 4)]);
    this.#add(rows, { tag: IPTC, code: LONG, count: value.length / 4, value });
  }

  #copyField(rows: Rows, block: TiffBlock, tag: number, field: Field): void {
    const value = block.littleEndianBytes(field);
    if (value) this.#add(rows, { tag, code: field.code, count: field.count, value });
  }

  /**
   * Copies a field of the first directory in a form that libtiff accepts without a warning, because sharp
   * treats warnings as damage. Texts have the type ASCII and one NUL, at the end.
   */
  #copyFirstField(rows: Rows, block: TiffBlock, tag: number, field: Field): void {
    const { name } = field.type;
    if (name !== 'ascii' && name !== 'utf8') {
      if (!isText(tag)) this.#copyField(rows, block, tag, field);
      return;
    }
    const text = block.littleEndianBytes(field)?.toString('latin1');
    if (text === undefined) return;
    // A NUL within Copyright separates photographer and editor.
    const parts = text.split('\0').filter((part) => part !== '');
    const value = Buffer.from(`${parts.join('; ')}\0`, 'latin1');
    this.#add(rows, { tag, code: ASCII, count: value.length, value });
  }

  /** Adds numbers of two bytes (SHORT) or four (LONG). */
  addNumbers(rows: Rows, tag: number, size: 2 | 4, values: readonly number[]): void {
    const value = littleEndian(size, values);
    this.#add(rows, { tag, code: size === 2 ? SHORT : LONG, count: values.length, value });
  }

  addFraction(rows: Rows, tag: number, numerator: number, denominator: number): void {
    const value = littleEndian(4, [numerator, denominator]);
    this.#add(rows, { tag, code: RATIONAL, count: 1, value });
  }

  addBytes(rows: Rows, tag: number, bytes: Uint8Array): void {
    this.#add(rows, { tag, code: UNDEFINED, count: bytes.length, value: Buffer.from(bytes) });
  }

  #add(
    rows: Rows,
    { tag, code, count, value }: { tag: number; code: number; count: number; value: Buffer },
  ): void {
    const inline = value.length <= 4;
    const place = inline ? Buffer.concat([value], 4).readUInt32LE() : this.#write(value);
    rows.set(tag, row(tag, code, count, place));
  }
}

const POINTERS: ReadonlySet<number> = new Set(Object.values(DIRECTORY_TAGS));

function littleEndian(size: 2 | 4, values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * size);
  for (const [index, value] of values.entries()) bytes.writeUIntLE(value, index * size, size);
  return bytes;
}

/** @param value the value or its offset */
function row(tag: number, code: number, count: number, value: number): Buffer {
  const bytes = Buffer.alloc(ROW_BYTES);
  bytes.writeUInt16LE(tag, 0);
  bytes.writeUInt16LE(code, 2);
  bytes.writeUInt32LE(count, 4);
  bytes.writeUInt32LE(value, 8);
  return bytes;
}
