import { fileFailure } from '../file-error.ts';
import { DIRECTORY_TAGS } from './tags.ts';

/** A value to write: the number of its type, how many there are, and the bytes in the block's order. */
export interface Value {
  readonly code: number;
  readonly count: number;
  readonly bytes: Buffer;
}

export type DirectoryName = 'image' | 'photo' | 'gps';

/** Bytes of one value by type (TIFF 6.0 section 2, Exif 3.0). */
const TYPE_BYTES: Readonly<Record<number, number>> = {
  ...{ 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 129: 1 },
};
export const TYPE = { ASCII: 2, SHORT: 3, LONG: 4, RATIONAL: 5, UNDEFINED: 7, UTF8: 129 } as const;

const ROW_BYTES = 12;
/** Most rows of a directory: those of cameras have less than a hundred. */
const MAX_ROWS = 1000;
const PREFIX = Buffer.from('Exif\0\0', 'latin1');
const EMPTY = Buffer.from('II*\0\x08\0\0\0\0\0\0\0\0\0', 'latin1');
const MAKER_NOTE = 37_500;
const THUMBNAIL = { offset: 513, length: 514 } as const;

interface Range {
  readonly start: number;
  readonly end: number;
}

interface Directory extends Range {
  readonly rows: readonly Row[];
  /** Place of the offset of the next directory. */
  readonly next: number;
}

/** An entry of a directory, and the range of its value unless the entry itself holds it. */
interface Row {
  readonly tag: number;
  readonly place: number;
  readonly value: Range | null;
}

/**
 * Changes tags of an Exif block. Values stay at their places, so that maker notes, whose offsets count from the start
 * of the block and are not documented, keep their meaning: new values and directories are appended. What is removed
 * is overwritten with zeros, except where other values lie.
 */
export class ExifEditor {
  #block: Buffer;
  readonly #prefixed: boolean;

  private constructor(block: Buffer, prefixed: boolean) {
    this.#block = block;
    this.#prefixed = prefixed;
  }

  /**
   * Opens a copy of a block, with or without its `Exif` prefix, or a new one.
   *
   * @throws Failure metadata_not_writable for a block whose structure is damaged
   */
  static open(bytes: Uint8Array | null): ExifEditor {
    const copy = Buffer.from(bytes ?? EMPTY);
    const prefixed = copy.subarray(0, PREFIX.length).equals(PREFIX);
    const block = prefixed ? copy.subarray(PREFIX.length) : copy;
    const editor = new ExifEditor(block, prefixed);
    const magic = block.toString('latin1', 0, 4);
    if (magic !== 'II*\0' && magic !== 'MM\0*') throw unwritable('its header is invalid');
    if (block.length < 8 || !editor.#first()) throw unwritable('it has no directory');
    return editor;
  }

  /** The block; null if no tag is in it. */
  bytes(): Buffer | null {
    const { rows, next } = this.#first()!;
    if (rows.length === 0 && this.#long(next) === 0) return null;
    return this.#prefixed ? Buffer.concat([PREFIX, this.#block]) : this.#block;
  }

  get isLittleEndian(): boolean {
    return this.#block[0] === 0x49;
  }

  has(directory: DirectoryName, tag: number): boolean {
    return this.#rowOf(directory, tag) !== undefined;
  }

  /** The first number of a tag of type SHORT or LONG; undefined if there is none. */
  number(directory: DirectoryName, tag: number): number | undefined {
    const row = this.#rowOf(directory, tag);
    if (!row || row.value) return undefined;
    const code = this.#short(row.place + 2);
    if (code === TYPE.SHORT) return this.#short(row.place + 8);
    return code === TYPE.LONG ? this.#long(row.place + 8) : undefined;
  }

  /** Sets a tag, and makes its directory if it is missing. */
  set(directory: DirectoryName, tag: number, value: Value): void {
    const { bytes } = value;
    const row = this.#rowOf(directory, tag) ?? this.#addRow(directory, tag);
    const former = row.value;
    const isReused = former && former.end - former.start >= bytes.length && this.#isOwn(former);
    let content = bytes;
    if (bytes.length > 4) {
      const place = isReused ? former.start : this.#append(bytes);
      if (isReused) this.#block.fill(0, former.start, former.end);
      bytes.copy(this.#block, place);
      content = this.#longBytes(place);
    }
    this.#putShort(row.place + 2, value.code);
    this.#putLong(row.place + 4, value.count);
    this.#block.fill(0, row.place + 8, row.place + ROW_BYTES);
    content.copy(this.#block, row.place + 8);
    if (bytes.length <= 4 || !isReused) this.#wipe(former);
  }

  /** Sets a text, as UTF-8, which contains ASCII. */
  setText(directory: DirectoryName, tag: number, text: string): void {
    const bytes = Buffer.from(`${text}\0`);
    this.set(directory, tag, { code: TYPE.ASCII, count: bytes.length, bytes });
  }

  /** Sets a number of type SHORT. */
  setShort(directory: DirectoryName, tag: number, value: number): void {
    this.set(directory, tag, { code: TYPE.SHORT, count: 1, bytes: this.#shortBytes(value) });
  }

  /** Sets a fraction. */
  setRational(directory: DirectoryName, tag: number, numerator: number, denominator: number): void {
    const bytes = Buffer.concat([this.#longBytes(numerator), this.#longBytes(denominator)]);
    this.set(directory, tag, { code: TYPE.RATIONAL, count: 1, bytes });
  }

  /** Removes a tag. */
  remove(directory: DirectoryName, tag: number): boolean {
    const found = this.#directory(directory);
    const index = found?.rows.findIndex((row) => row.tag === tag) ?? -1;
    if (!found || index < 0) return false;
    const { place, value } = found.rows[index]!;
    this.#block.copyWithin(place, place + ROW_BYTES, found.end);
    this.#block.fill(0, found.end - ROW_BYTES, found.end);
    this.#putShort(found.start, found.rows.length - 1);
    this.#wipe(value);
    return true;
  }

  /** Removes the position where a picture was taken. */
  removeGps(): boolean {
    const gps = this.#directory('gps');
    for (const { tag } of gps?.rows ?? []) this.remove('gps', tag);
    return this.remove('image', DIRECTORY_TAGS.gps);
  }

  /** Removes the directory of the thumbnail, and its picture. */
  removeThumbnail(): boolean {
    const first = this.#first()!;
    const second = this.#read(this.#long(first.next));
    if (this.#long(first.next) === 0) return false;
    this.#putLong(first.next, 0);
    for (const { value } of second?.rows ?? []) this.#wipe(value);
    const picture = second && this.#thumbnail(second);
    if (second) this.#wipe(second);
    if (picture) this.#wipe(picture);
    this.#cutEnd();
    return true;
  }

  #thumbnail({ rows }: Directory): Range | null {
    const numberOf = (tag: number) => {
      const row = rows.find((one) => one.tag === tag);
      return row && !row.value ? this.#long(row.place + 8) : 0;
    };
    const start = numberOf(THUMBNAIL.offset);
    const end = start + numberOf(THUMBNAIL.length);
    return start >= 8 && end > start && end <= this.#block.length ? { start, end } : null;
  }

  /** Cuts off zeros after the last value, unless maker notes may refer to them. */
  #cutEnd(): void {
    if (this.#rowOf('photo', MAKER_NOTE)) return;
    let end = this.#block.length;
    const least = Math.max(...this.#ranges().map((range) => range.end));
    while (end > least && this.#block[end - 1] === 0) end -= 1;
    this.#block = this.#block.subarray(0, end + ((end - least) % 2));
  }

  #rowOf(directory: DirectoryName, tag: number): Row | undefined {
    return this.#directory(directory)?.rows.find((row) => row.tag === tag);
  }

  /** Adds an empty row. The directory moves to the end of the block. */
  #addRow(name: DirectoryName, tag: number): Row {
    const former = this.#directory(name);
    const rows = former?.rows ?? [];
    if (rows.length >= MAX_ROWS) throw unwritable('a directory is full');
    const index = rows.filter((row) => row.tag < tag).length;
    const head = this.#shortBytes(rows.length + 1);
    const copies = rows.map(({ place }) => this.#block.subarray(place, place + ROW_BYTES));
    const row = Buffer.alloc(ROW_BYTES);
    row.set(this.#shortBytes(tag));
    row.set(this.#shortBytes(TYPE.SHORT), 2);
    row.set(this.#longBytes(1), 4);
    copies.splice(index, 0, row);
    const next = former ? this.#block.subarray(former.next, former.next + 4) : Buffer.alloc(4);
    const place = this.#append(Buffer.concat([head, ...copies, next]));
    if (name === 'image') this.#putLong(4, place);
    else {
      const pointer = { code: TYPE.LONG, count: 1, bytes: this.#longBytes(place) };
      this.set('image', DIRECTORY_TAGS[name], pointer);
    }
    if (former) this.#wipe(former);
    return this.#rowOf(name, tag)!;
  }

  #first(): Directory | null {
    return this.#read(this.#long(4));
  }

  #directory(name: DirectoryName): Directory | null {
    const first = this.#first();
    if (name === 'image') return first;
    const pointer = first?.rows.find((row) => row.tag === DIRECTORY_TAGS[name]);
    if (!pointer) return null;
    const found = this.#read(this.#long(pointer.place + 8));
    // Directories that share rows could not be changed separately.
    if (!found || overlap(found, first!)) throw unwritable('a directory is damaged');
    return found;
  }

  #read(offset: number): Directory | null {
    const block = this.#block;
    if (offset < 8 || offset + 2 > block.length) return null;
    const count = this.#short(offset);
    const next = offset + 2 + count * ROW_BYTES;
    if (count > MAX_ROWS || next + 4 > block.length) return null;
    const rows = Array.from({ length: count }, (_, index): Row => {
      const place = offset + 2 + index * ROW_BYTES;
      const length = (TYPE_BYTES[this.#short(place + 2)] ?? 0) * this.#long(place + 4);
      const start = this.#long(place + 8);
      const isOutside = length > 4 && start >= 8 && start + length <= block.length;
      const value = isOutside ? { start, end: start + length } : null;
      return { tag: this.#short(place), place, value };
    });
    return { start: offset, end: next + 4, rows, next };
  }

  /** Ranges of all directories and values that are found. */
  #ranges(): Range[] {
    const first = this.#first()!;
    const second = this.#read(this.#long(first.next));
    const pointed = [...Object.values(DIRECTORY_TAGS)];
    const directories: Directory[] = second ? [first, second] : [first];
    for (let index = 0; index < directories.length && index < 8; index += 1) {
      for (const { tag, place } of directories[index]!.rows) {
        if (!pointed.includes(tag as never)) continue;
        const found = this.#read(this.#long(place + 8));
        if (found && !directories.some(({ start }) => start === found.start))
          directories.push(found);
      }
    }
    const thumbnail = second && this.#thumbnail(second);
    return [
      { start: 0, end: 8 },
      ...directories,
      ...directories.flatMap(({ rows }) => rows.flatMap(({ value }) => value ?? [])),
      ...(thumbnail ? [thumbnail] : []),
    ];
  }

  /** Whether no other value or directory overlaps the range of one value. */
  #isOwn(range: Range): boolean {
    return this.#ranges().filter((other) => overlap(range, other)).length === 1;
  }

  /** Overwrites a range that nothing refers to any more. */
  #wipe(range: Range | null): void {
    if (range && !this.#ranges().some((other) => overlap(range, other)))
      this.#block.fill(0, range.start, range.end);
  }

  /** Appends at an even place (TIFF 6.0, section 2) and returns it. */
  #append(bytes: Buffer): number {
    const padding = Buffer.alloc(this.#block.length % 2);
    const place = this.#block.length + padding.length;
    this.#block = Buffer.concat([this.#block, padding, bytes]);
    return place;
  }

  #short(place: number): number {
    return this.isLittleEndian ? this.#block.readUInt16LE(place) : this.#block.readUInt16BE(place);
  }

  #long(place: number): number {
    return this.isLittleEndian ? this.#block.readUInt32LE(place) : this.#block.readUInt32BE(place);
  }

  #shortBytes(value: number): Buffer {
    const bytes = Buffer.alloc(2);
    if (this.isLittleEndian) bytes.writeUInt16LE(value);
    else bytes.writeUInt16BE(value);
    return bytes;
  }

  #longBytes(value: number): Buffer {
    const bytes = Buffer.alloc(4);
    if (this.isLittleEndian) bytes.writeUInt32LE(value);
    else bytes.writeUInt32BE(value);
    return bytes;
  }

  #putShort(place: number, value: number): void {
    this.#shortBytes(value).copy(this.#block, place);
  }

  #putLong(place: number, value: number): void {
    this.#longBytes(value).copy(this.#block, place);
  }
}

function overlap(one: Range, other: Range): boolean {
  return one.start < other.end && other.start < one.end;
}

function unwritable(detail: string) {
  return fileFailure('metadata_not_writable', `EXIF cannot be changed: ${detail}`);
}
