import { fileFailure } from '../file-error.ts';
import {
  type Directory,
  directoryAt,
  longAt,
  MAX_ROWS,
  numberBytes,
  overlap,
  type Range,
  ROW_BYTES,
  type Row,
  rangesOf,
  thumbnailOf,
} from './directories.ts';
import { DIRECTORY_TAGS } from './tags.ts';

/** A value to write: the number of its type, how many there are, and the bytes in the block's order. */
export interface Value {
  readonly code: number;
  readonly count: number;
  readonly bytes: Buffer;
}

export type DirectoryName = 'image' | 'photo' | 'gps';

export const TYPE = { ASCII: 2, SHORT: 3, LONG: 4, RATIONAL: 5, UNDEFINED: 7, UTF8: 129 } as const;

const PREFIX = Buffer.from('Exif\0\0', 'latin1');
const EMPTY = Buffer.from('II*\0\x08\0\0\0\0\0\0\0\0\0', 'latin1');
const MAKER_NOTE = 37_500;
/**
 * Changes tags of an Exif block. Values stay at their places, so that maker notes, whose offsets count from the start
 * of the block and are not documented, keep their meaning: new values and directories are appended. What is removed
 * is overwritten with zeros, except where other values lie.
 */
export class ExifEditor {
  #block: Buffer;
  readonly #prefixed: boolean;
  /** Whether it is a TIFF file, whose pages have directories too. */
  readonly #isFile: boolean;
  /** Place of the offset of the first directory, or of that of the current page. */
  #link = 4;
  readonly #pages = new Set<number>();
  /** Ranges to which nothing refers any more, unless others overlap. */
  readonly #unused: Range[] = [];
  /** Whether zeros at the end are cut off. */
  #isCut = false;

  private constructor(block: Buffer, prefixed: boolean, isFile: boolean) {
    this.#block = block;
    this.#prefixed = prefixed;
    this.#isFile = isFile;
  }

  /**
   * Opens a copy of a block, with or without its `Exif` prefix, or a new one; or a copy of a TIFF file.
   *
   * @throws Failure metadata_not_writable for a block whose structure is damaged
   */
  static open(bytes: Uint8Array | null, { isFile = false } = {}): ExifEditor {
    const copy = Buffer.from(bytes ?? EMPTY);
    const prefixed = copy.subarray(0, PREFIX.length).equals(PREFIX);
    const block = prefixed ? copy.subarray(PREFIX.length) : copy;
    const editor = new ExifEditor(block, prefixed, isFile);
    const magic = block.toString('latin1', 0, 4);
    if (magic !== 'II*\0' && magic !== 'MM\0*') throw unwritable('its header is invalid');
    if (block.length < 8 || !editor.#first()) throw unwritable('it has no directory');
    return editor;
  }

  /** The block; null if no tag is in it. */
  bytes(): Buffer | null {
    const used = this.#unused.length > 0 ? rangesOf(this.#block, this.#isFile) : [];
    for (const range of this.#unused.splice(0)) {
      if (!used.some((other) => overlap(range, other))) this.#block.fill(0, range.start, range.end);
    }
    if (this.#isCut || this.#isFile) this.#cutEnd();
    const { rows, next } = this.#first()!;
    if (rows.length === 0 && longAt(this.#block, next) === 0) return null;
    return this.#prefixed ? Buffer.concat([PREFIX, this.#block]) : this.#block;
  }

  /** Goes to the next page of a TIFF file; false after the last. */
  nextPage(): boolean {
    const { next } = this.#first()!;
    if (longAt(this.#block, next) === 0) return false;
    this.#link = next;
    const page = this.#first();
    if (!page || this.#pages.has(page.start)) throw unwritable('a page is damaged');
    this.#pages.add(page.start);
    return true;
  }

  /** Tags of a directory. */
  tags(directory: DirectoryName): number[] {
    return this.#directory(directory)?.rows.map(({ tag }) => tag) ?? [];
  }

  /** A value of bytes, more than four; null where there is none. */
  bytesOf(tag: number): Buffer | null {
    const range = this.#rowOf('image', tag)?.value;
    return range ? this.#block.subarray(range.start, range.end) : null;
  }

  has(directory: DirectoryName, tag: number): boolean {
    return this.#rowOf(directory, tag) !== undefined;
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
      content = numberBytes(this.#block, place, 4);
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
    this.set(directory, tag, {
      code: TYPE.SHORT,
      count: 1,
      bytes: numberBytes(this.#block, value, 2),
    });
  }

  /** Sets a fraction. */
  setRational(directory: DirectoryName, tag: number, numerator: number, denominator: number): void {
    const bytes = Buffer.concat([
      numberBytes(this.#block, numerator, 4),
      numberBytes(this.#block, denominator, 4),
    ]);
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

  /** Removes a directory, such as that of the position where a picture was taken. */
  removeDirectory(name: 'gps' | 'photo'): boolean {
    for (const tag of this.tags(name)) this.remove(name, tag);
    return this.remove('image', DIRECTORY_TAGS[name]);
  }

  /** Removes the directory of the thumbnail, and its picture. */
  removeThumbnail(): boolean {
    const first = this.#first()!;
    const second = directoryAt(this.#block, longAt(this.#block, first.next));
    if (longAt(this.#block, first.next) === 0) return false;
    this.#putLong(first.next, 0);
    for (const { value } of second?.rows ?? []) this.#wipe(value);
    const picture = second && thumbnailOf(this.#block, second);
    if (second) this.#wipe(second);
    if (picture) this.#wipe(picture);
    this.#isCut = true;
    return true;
  }

  /** Cuts off zeros after the last value, unless maker notes may refer to them. */
  #cutEnd(): void {
    if (this.#rowOf('photo', MAKER_NOTE)) return;
    let end = this.#block.length;
    const least = rangesOf(this.#block, this.#isFile).reduce(
      (most, range) => Math.max(most, range.end),
      0,
    );
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
    const head = numberBytes(this.#block, rows.length + 1, 2);
    const copies = rows.map(({ place }) => this.#block.subarray(place, place + ROW_BYTES));
    const row = Buffer.alloc(ROW_BYTES);
    row.set(numberBytes(this.#block, tag, 2));
    row.set(numberBytes(this.#block, TYPE.SHORT, 2), 2);
    row.set(numberBytes(this.#block, 1, 4), 4);
    copies.splice(index, 0, row);
    const next = former ? this.#block.subarray(former.next, former.next + 4) : Buffer.alloc(4);
    const place = this.#append(Buffer.concat([head, ...copies, next]));
    if (name === 'image') this.#putLong(this.#link, place);
    else {
      const pointer = { code: TYPE.LONG, count: 1, bytes: numberBytes(this.#block, place, 4) };
      this.set('image', DIRECTORY_TAGS[name], pointer);
    }
    if (former) this.#wipe(former);
    return this.#rowOf(name, tag)!;
  }

  #first(): Directory | null {
    return directoryAt(this.#block, longAt(this.#block, this.#link));
  }

  #directory(name: DirectoryName): Directory | null {
    const first = this.#first();
    if (name === 'image') return first;
    const pointer = first?.rows.find((row) => row.tag === DIRECTORY_TAGS[name]);
    if (!pointer) return null;
    const found = directoryAt(this.#block, longAt(this.#block, pointer.place + 8));
    // Directories that share rows could not be changed separately.
    if (!found || overlap(found, first!)) throw unwritable('a directory is damaged');
    return found;
  }

  /** Whether no other value or directory overlaps the range of one value. */
  #isOwn(range: Range): boolean {
    return (
      rangesOf(this.#block, this.#isFile).filter((other) => overlap(range, other)).length === 1
    );
  }

  /** Has a range overwritten that nothing refers to any more. */
  #wipe(range: Range | null): void {
    if (range) this.#unused.push(range);
  }

  /** Appends at an even place (TIFF 6.0, section 2) and returns it. */
  #append(bytes: Buffer): number {
    const padding = Buffer.alloc(this.#block.length % 2);
    const place = this.#block.length + padding.length;
    this.#block = Buffer.concat([this.#block, padding, bytes]);
    return place;
  }

  #putShort(place: number, value: number): void {
    numberBytes(this.#block, value, 2).copy(this.#block, place);
  }

  #putLong(place: number, value: number): void {
    numberBytes(this.#block, value, 4).copy(this.#block, place);
  }
}

function unwritable(detail: string) {
  return fileFailure('metadata_not_writable', `EXIF cannot be changed: ${detail}`);
}
