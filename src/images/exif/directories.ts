import { fileFailure } from '../file-error.ts';
import { DIRECTORY_TAGS } from './tags.ts';
import { typeOf } from './tiff-block.ts';

/** Bytes of an entry of a directory. */
export const ROW_BYTES = 12;
/** Most rows of a directory: those of cameras have less than a hundred. */
export const MAX_ROWS = 1000;
const SHORT = 3;
const THUMBNAIL = { offset: 513, length: 514 } as const;

export interface Range {
  readonly start: number;
  readonly end: number;
}

export type Directory = Readonly<NonNullable<ReturnType<typeof directoryAt>>>;

/** An entry of a directory, and the range of its value unless the entry itself holds it. */
export type Row = Readonly<Directory['rows'][number]>;

const isLittleEndian = (block: Buffer): boolean => block[0] === 0x49;

function shortAt(block: Buffer, place: number): number {
  return isLittleEndian(block) ? block.readUInt16LE(place) : block.readUInt16BE(place);
}

export function longAt(block: Buffer, place: number): number {
  return isLittleEndian(block) ? block.readUInt32LE(place) : block.readUInt32BE(place);
}

/** A number in the byte order of a block. */
export function numberBytes(block: Buffer, value: number, length: 2 | 4): Buffer {
  const bytes = Buffer.alloc(length);
  if (isLittleEndian(block)) bytes.writeUIntLE(value, 0, length);
  else bytes.writeUIntBE(value, 0, length);
  return bytes;
}

/** The directory at an offset; null where there is none. */
export function directoryAt(block: Buffer, offset: number) {
  if (offset < 8 || offset + 2 > block.length) return null;
  const count = shortAt(block, offset);
  const next = offset + 2 + count * ROW_BYTES;
  if (count > MAX_ROWS || next + 4 > block.length) return null;
  const rows = Array.from({ length: count }, (_, index) => {
    const place = offset + 2 + index * ROW_BYTES;
    const length = (typeOf(shortAt(block, place + 2))?.bytes ?? 0) * longAt(block, place + 4);
    const start = longAt(block, place + 8);
    const isOutside = length > 4 && start >= 8 && start + length <= block.length;
    const value: Range | null = isOutside ? { start, end: start + length } : null;
    return { tag: shortAt(block, place), place, value };
  });
  // `next` is the place of the offset of the next directory.
  return { start: offset, end: next + 4, rows, next };
}

/** Tags of a TIFF file: directories of smaller pictures, and places and lengths of data. */
const SUB_DIRECTORIES = 330;
const DATA = [
  [273, 279],
  [324, 325],
  [THUMBNAIL.offset, THUMBNAIL.length],
] as const;
/** Most directories of a block of EXIF, and of a file with pages. */
const [MAX_DIRECTORIES, MAX_PAGES] = [8, 4096];

/**
 * Ranges of all directories and values that are found, and of data of pictures.
 *
 * @param isFile whether it is a TIFF file, not a block of EXIF, of which the second directory is the thumbnail
 */
export function rangesOf(block: Buffer, isFile = false): Range[] {
  const pointers: readonly number[] = Object.values(DIRECTORY_TAGS);
  const directories = new Map<number, Directory>();
  const most = isFile ? MAX_PAGES : MAX_DIRECTORIES;
  const queue = [longAt(block, 4)];
  for (const offset of queue) {
    const found = directories.has(offset) ? null : directoryAt(block, offset);
    if (!found || directories.size >= most) continue;
    directories.set(offset, found);
    if (isFile || directories.size === 1) queue.push(longAt(block, found.next));
    for (const row of found.rows) {
      // Whatever type and count a damaged pointer has: the editor follows it too.
      if (pointers.includes(row.tag)) queue.push(longAt(block, row.place + 8));
      else if (isFile && row.tag === SUB_DIRECTORIES) queue.push(...numbersOf(block, row));
    }
  }
  if (isFile && directories.size >= most)
    throw fileFailure('metadata_not_writable', `a TIFF file with more than ${most} directories`);
  const all = [...directories.values()];
  return [
    { start: 0, end: 8 },
    ...all,
    ...all.flatMap(({ rows }) => rows.flatMap(({ value }) => value ?? [])),
    ...all.flatMap((directory) => dataOf(block, directory)),
  ];
}

/** Numbers of a value of SHORT or LONG, at least one. */
function numbersOf(block: Buffer, { place, value }: Row): number[] {
  const size = shortAt(block, place + 2) === SHORT ? 2 : 4;
  const [from, count] = [value?.start ?? place + 8, longAt(block, place + 4)];
  const length = Math.min(Math.max(count, 1), value ? (value.end - value.start) / size : 4 / size);
  return Array.from({ length }, (_, index) =>
    size === 2 ? shortAt(block, from + index * 2) : longAt(block, from + index * 4),
  );
}

/** Ranges of the data of a picture. */
function dataOf(block: Buffer, { rows }: Directory): Range[] {
  return DATA.flatMap((tags) => {
    const [starts, lengths] = tags.map((tag) => rows.find((row) => row.tag === tag));
    if (!starts || !lengths) return [];
    const sizes = numbersOf(block, lengths);
    return numbersOf(block, starts).map((start, index) => ({
      start,
      end: start + (sizes[index] ?? 0),
    }));
  });
}

/** The range of the picture of a thumbnail; null where it has none. */
export function thumbnailOf(block: Buffer, { rows }: Directory): Range | null {
  const numberOf = (tag: number) => {
    const row = rows.find((one) => one.tag === tag);
    return row && !row.value ? longAt(block, row.place + 8) : 0;
  };
  const start = numberOf(THUMBNAIL.offset);
  const end = start + numberOf(THUMBNAIL.length);
  return start >= 8 && end > start && end <= block.length ? { start, end } : null;
}

export function overlap(one: Range, other: Range): boolean {
  return one.start < other.end && other.start < one.end;
}
