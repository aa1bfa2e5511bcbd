import { DIRECTORY_TAGS } from './tags.ts';

/** An entry of a directory: the type and the offset of its value. */
export interface Field {
  readonly type: FieldType;
  /** Number of the type. */
  readonly code: number;
  /** Number of values. */
  readonly count: number;
  /** Offset of the value from the start of the block. */
  readonly offset: number;
}

/** The types of TIFF 6.0 section 2, IFD of its supplement 1, and UTF-8 of Exif 3.0. */
const TYPES = new Map([
  [1, { name: 'byte', bytes: 1, read: 'getUint8' }],
  [2, { name: 'ascii', bytes: 1, read: 'getUint8' }],
  [3, { name: 'short', bytes: 2, read: 'getUint16' }],
  [4, { name: 'long', bytes: 4, read: 'getUint32' }],
  [5, { name: 'rational', bytes: 8, read: 'getUint32' }],
  [6, { name: 'sbyte', bytes: 1, read: 'getInt8' }],
  [7, { name: 'undefined', bytes: 1, read: 'getUint8' }],
  [8, { name: 'sshort', bytes: 2, read: 'getInt16' }],
  [9, { name: 'slong', bytes: 4, read: 'getInt32' }],
  [10, { name: 'srational', bytes: 8, read: 'getInt32' }],
  [11, { name: 'float', bytes: 4, read: 'getFloat32' }],
  [12, { name: 'double', bytes: 8, read: 'getFloat64' }],
  [13, { name: 'ifd', bytes: 4, read: 'getUint32' }],
  [129, { name: 'utf8', bytes: 1, read: 'getUint8' }],
] as const);

export type FieldType = typeof TYPES extends Map<number, infer Type> ? Type : never;

/** The type of this number; undefined if there is none. */
export function typeOf(code: number): FieldType | undefined {
  return (TYPES as ReadonlyMap<number, FieldType>).get(code);
}

const LITTLE_ENDIAN = 0x4949;
const BIG_ENDIAN = 0x4d4d;
const MAGIC = 42;
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;

/**
 * A TIFF structure (TIFF 6.0, section 2) in memory, of untrusted bytes. Every offset is checked before it
 * is read. Each directory is read at most once, so that directories cannot form a loop. The values that are
 * read have together at most as many bytes as the block, because values of a valid block do not overlap.
 * So the work is bounded by the length of the block.
 */
export class TiffBlock {
  readonly littleEndian: boolean;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #opened = new Set<number>();
  /** Bytes of values that may still be read. */
  #allowance: number;

  private constructor(bytes: Uint8Array, view: DataView, littleEndian: boolean) {
    this.#bytes = bytes;
    this.#view = view;
    this.littleEndian = littleEndian;
    this.#allowance = bytes.length;
  }

  /** Opens a block; null if the bytes do not start with a TIFF header. */
  static open(bytes: Uint8Array): TiffBlock | null {
    if (bytes.length < HEADER_BYTES) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const order = view.getUint16(0);
    if (order !== LITTLE_ENDIAN && order !== BIG_ENDIAN) return null;
    const littleEndian = order === LITTLE_ENDIAN;
    if (view.getUint16(2, littleEndian) !== MAGIC) return null;
    return new TiffBlock(bytes, view, littleEndian);
  }

  /** Offset of the first directory. */
  get start(): number {
    return this.#view.getUint32(4, this.littleEndian);
  }

  /**
   * The entries of a directory by tag, the first of each tag. Skips entries of unknown type, without
   * values, with values beyond the block, or truncated. Null if there is no directory, or it was read
   * before.
   */
  directory(offset: number): Map<number, Field> | null {
    const end = this.#bytes.length;
    if (offset < HEADER_BYTES || offset + 2 > end || this.#opened.has(offset)) return null;
    this.#opened.add(offset);
    const entries = this.#view.getUint16(offset, this.littleEndian);
    const fields = new Map<number, Field>();
    for (let index = 0; index < entries; index += 1) {
      const entry = offset + 2 + index * ENTRY_BYTES;
      if (entry + ENTRY_BYTES > end) break;
      const tag = this.#view.getUint16(entry, this.littleEndian);
      if (fields.has(tag)) continue;
      const field = this.#field(entry);
      if (field !== null) fields.set(tag, field);
    }
    return fields;
  }

  #field(entry: number): Field | null {
    const code = this.#view.getUint16(entry + 2, this.littleEndian);
    const type = typeOf(code);
    const count = this.#view.getUint32(entry + 4, this.littleEndian);
    if (type === undefined || count === 0) return null;
    const length = count * type.bytes;
    const place = entry + 8;
    const offset = length <= 4 ? place : this.#view.getUint32(place, this.littleEndian);
    return offset + length <= this.#bytes.length ? { type, code, count, offset } : null;
  }

  /** The first bytes of a value, at most `most`; null if the byte limit is exceeded. */
  bytes(field: Field, most: number): Uint8Array | null {
    const length = Math.min(field.count * field.type.bytes, most);
    if (!this.#take(length)) return null;
    return this.#bytes.subarray(field.offset, field.offset + length);
  }

  /** A copy of a value with its numbers in little-endian order; null if the byte limit is exceeded. */
  littleEndianBytes({ type, count, offset }: Field): Buffer | null {
    if (!this.#take(count * type.bytes)) return null;
    const value = Buffer.from(this.#bytes.subarray(offset, offset + count * type.bytes));
    if (this.littleEndian) return value;
    // A fraction has two numbers.
    const size = type.name.endsWith('rational') ? 4 : type.bytes;
    if (size === 2) return value.swap16();
    if (size === 4) return value.swap32();
    return size === 8 ? value.swap64() : value;
  }

  /**
   * The numbers of a value; null stands for a division by zero or an infinite number. Returns null if the
   * byte limit is exceeded. Text and undefined bytes are returned as bytes.
   */
  numbers(field: Field): (number | null)[] | null {
    const { count, type, offset } = field;
    if (!this.#take(count * type.bytes)) return null;
    return Array.from({ length: count }, (_, index) =>
      this.#number(type, offset + index * type.bytes),
    );
  }

  #number(type: FieldType, offset: number): number | null {
    const { read } = type;
    const value = this.#view[read](offset, this.littleEndian);
    if (!type.name.endsWith('rational')) return finite(value);
    return finite(value / this.#view[read](offset + 4, this.littleEndian));
  }

  #take(bytes: number): boolean {
    if (bytes > this.#allowance) return false;
    this.#allowance -= bytes;
    return true;
  }
}

function finite(value: number): number | null {
  // Adding 0 turns minus zero, which JSON cannot represent, into zero.
  return Number.isFinite(value) ? value + 0 : null;
}

export type Fields = ReadonlyMap<number, Field>;

/** Prefix of the TIFF header in JPEG and HEIF. */
const PREFIX = [0x45, 0x78, 0x69, 0x66, 0, 0];

/** Opens an Exif block with or without its `Exif` prefix; null if the bytes are none. */
export function openExif(bytes: Uint8Array): TiffBlock | null {
  const prefixed = PREFIX.every((byte, index) => bytes[index] === byte);
  return TiffBlock.open(prefixed ? bytes.subarray(PREFIX.length) : bytes);
}

/** The directories that describe the picture; a missing one is empty. Null if the block has no first one. */
export function readDirectories(block: TiffBlock) {
  const image = block.directory(block.start);
  if (image === null) return null;
  const photo = directoryAt(block, image, DIRECTORY_TAGS.photo);
  const gps = directoryAt(block, image, DIRECTORY_TAGS.gps);
  return { image, photo, gps, interop: directoryAt(block, photo, DIRECTORY_TAGS.interop) };
}

function directoryAt(block: TiffBlock, from: Fields, tag: number): Fields {
  const field = from.get(tag);
  if (field?.count !== 1 || !['long', 'ifd'].includes(field.type.name)) return new Map();
  const offset = block.numbers(field)?.[0] ?? 0;
  return block.directory(offset) ?? new Map();
}
