import { DIRECTORY_TAGS } from './tags.ts';
import { typeOf } from './tiff-block.ts';

/** Bytes of an entry of a directory. */
export const ROW_BYTES = 12;
/** Most rows of a directory: those of cameras have less than a hundred. */
export const MAX_ROWS = 1000;
const THUMBNAIL = { offset: 513, length: 514 } as const;

export interface Range {
  readonly start: number;
  readonly end: number;
}

export type Directory = Readonly<NonNullable<ReturnType<typeof directoryAt>>>;

/** An entry of a directory, and the range of its value unless the entry itself holds it. */
export type Row = Readonly<Directory['rows'][number]>;

function isLittleEndian(block: Buffer): boolean {
  return block[0] === 0x49;
}

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

/** Ranges of all directories and values that are found. */
export function rangesOf(block: Buffer): Range[] {
  const first = directoryAt(block, longAt(block, 4))!;
  const second = directoryAt(block, longAt(block, first.next));
  const pointed = [...Object.values(DIRECTORY_TAGS)];
  const directories: Directory[] = second ? [first, second] : [first];
  for (let index = 0; index < directories.length && index < 8; index += 1) {
    for (const { tag, place } of directories[index]!.rows) {
      if (!pointed.includes(tag as never)) continue;
      const found = directoryAt(block, longAt(block, place + 8));
      if (found && !directories.some(({ start }) => start === found.start)) directories.push(found);
    }
  }
  const thumbnail = second && thumbnailOf(block, second);
  return [
    { start: 0, end: 8 },
    ...directories,
    ...directories.flatMap(({ rows }) => rows.flatMap(({ value }) => value ?? [])),
    ...(thumbnail ? [thumbnail] : []),
  ];
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
