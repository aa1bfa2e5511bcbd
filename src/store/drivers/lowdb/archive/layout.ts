import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A segment is one file, which is written once and never changed:
 *
 *     header       one line of JSON: the format, the store and the number of the segment
 *     bodies       the records, JSON one after another
 *     directory    pages of entries, ordered by account and then by the order of creation
 *     keys         pages of hashes with the position of their entry, ordered by hash
 *     footer       one line of JSON: the part of the above that is kept in memory
 *
 * Every byte is covered by a CRC-32: header and footer by the list of segments in checkpoint.json, a
 * body by its entry, and a page by its own last four bytes.
 */
const FORMAT = 'oriel-segment';
const VERSION = 1;

export const PAGE = 4096;
const CHECKSUM = 4;
/** Bytes of a page without its checksum. */
const PAGE_CAPACITY = PAGE - CHECKSUM;

export const ENTRY = 48;
export const ENTRIES_PER_PAGE = Math.floor(PAGE_CAPACITY / ENTRY);

const HASH = 8;
export const KEY = HASH + 4;
export const KEYS_PER_PAGE = Math.floor(PAGE_CAPACITY / KEY);

/** Directory entry of one record. */
export interface Entry {
  /** Index of the account in the footer. */
  readonly account: number;
  /** Order of creation, by which tasks are listed. */
  readonly order: number;
  /** Offset of the body in the file, its length in bytes, and its CRC-32. */
  readonly offset: number;
  readonly length: number;
  readonly checksum: number;
  /** Time at which the task ended, in milliseconds since the epoch. */
  readonly endedAt: number;
  /** Bytes of the record and of its files. */
  readonly bytes: number;
  /** Indexes in TASK_STATES and TASK_TYPES; `NO_TASK` for other records. */
  readonly status: number;
  readonly type: number;
}

/** Status of a record that is not a task: it is not listed. */
export const NO_TASK = 255;

export function writeEntry(page: Buffer, at: number, entry: Entry): void {
  page.writeUInt32LE(entry.account, at);
  page.writeUInt32LE(entry.length, at + 4);
  page.writeDoubleLE(entry.order, at + 8);
  page.writeDoubleLE(entry.offset, at + 16);
  page.writeDoubleLE(entry.endedAt, at + 24);
  page.writeDoubleLE(entry.bytes, at + 32);
  page.writeUInt32LE(entry.checksum, at + 40);
  page.writeUInt8(entry.status, at + 44);
  page.writeUInt8(entry.type, at + 45);
}

export function readEntry(page: Buffer, at: number): Entry {
  return {
    account: page.readUInt32LE(at),
    length: page.readUInt32LE(at + 4),
    order: page.readDoubleLE(at + 8),
    offset: page.readDoubleLE(at + 16),
    endedAt: page.readDoubleLE(at + 24),
    bytes: page.readDoubleLE(at + 32),
    checksum: page.readUInt32LE(at + 40),
    status: page.readUInt8(at + 44),
    type: page.readUInt8(at + 45),
  };
}

/** Writes the checksum to the end of a page. */
export function writeChecksum(page: Buffer): Buffer {
  page.writeUInt32LE(crc32(page.subarray(0, PAGE_CAPACITY)), PAGE_CAPACITY);
  return page;
}

export function hasValidChecksum(page: Buffer): boolean {
  return (
    page.length === PAGE &&
    page.readUInt32LE(PAGE_CAPACITY) === crc32(page.subarray(0, PAGE_CAPACITY))
  );
}

/** Kinds of keys by which records are found. */
export type KeyKind = 'task' | 'asset' | 'delivery' | 'task of delivery' | 'idempotency';

/**
 * First 64 bits of a key's SHA-256. Clients choose some of the keys, and must not be able to choose many
 * with the same hash.
 */
export function hashOf(kind: KeyKind, key: string): Buffer {
  return createHash('sha256').update(`${kind}\0${key}`).digest().subarray(0, HASH);
}

/** A hash with the index of its entry. */
export function encodeKey(hash: Buffer, index: number): Buffer {
  const key = Buffer.allocUnsafe(KEY);
  hash.copy(key);
  key.writeUInt32LE(index, HASH);
  return key;
}

export function hashIn(key: Buffer): Buffer {
  return key.subarray(0, HASH);
}

export function indexIn(key: Buffer): number {
  return key.readUInt32LE(HASH);
}

export function compareKeys(one: Buffer, other: Buffer): number {
  return one.compare(other);
}

/** Records of one account in a segment. */
export interface AccountPart {
  readonly id: string;
  /** Index of its first entry, and number of entries that follow from there. */
  readonly start: number;
  readonly count: number;
  /** Number of tasks. */
  readonly tasks: number;
  readonly bytes: number;
}

/** End of a segment, which is kept in memory. */
export interface Footer {
  readonly store: string;
  readonly number: number;
  readonly directory: number;
  readonly entries: number;
  readonly keys: number;
  /** First hash of each page of keys, hexadecimal. */
  readonly fences: readonly string[];
  readonly accounts: readonly AccountPart[];
  /** Number of tasks in each of TASK_STATES. */
  readonly states: readonly number[];
  /** Times at which the first and the last of its tasks ended. */
  readonly oldest: number;
  readonly newest: number;
}

/** Segment entry in checkpoint.json. */
export interface SegmentFile {
  readonly file: string;
  readonly number: number;
  /** Bytes of the file, of its header and of its footer. */
  readonly length: number;
  readonly header: number;
  readonly footer: number;
  /** CRC-32 of the header and the footer. */
  readonly checksum: number;
}

/** Segments that a checkpoint names. */
export interface SegmentList {
  readonly files: readonly SegmentFile[];
  readonly next: number;
}

export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.segment`;
}

/** Whether a file name is that of a segment, or of one that was being written. */
export function isSegmentFile(name: string): boolean {
  return /^\d{8,}\.segment(\.new)?$/.test(name);
}

export function headerOf(store: string, number: number): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, version: VERSION, store, number })}\n`);
}
