import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Files, missingAs, writeDurably } from '../../../files.ts';
import { readLine, wasSynced } from '../../../line.ts';
import type { Recovery } from '../../../options.ts';
import { corruptStore, newerStore } from '../files/errors.ts';
import type { Change } from '../state/state.ts';

export const FORMAT = 'oriel-journal';
export const VERSION = 3;
/** Versions before stores had identifiers (1), and before batches named the line before them (2). */
const FORMER_VERSIONS = [1, 2];
/** Characters of a line's checksum, with which it begins. */
const CHECKSUM_LENGTH = 8;
const NAME = /^(\d{8})\.journal$/;

/** A closed journal, which the next start replays unless a checkpoint has its changes. */
export interface ClosedJournal {
  readonly sequence: number;
  readonly length: number;
}

/** Valid beginning of a journal file. */
export interface Extent {
  /** Length in bytes. */
  readonly length: number;
  /** CRC-32 of these bytes. */
  readonly checksum: number;
  /** Whether the bytes after it are void: the rest of a failed write that could not be truncated. */
  readonly isFinal: boolean;
}

export interface JournalHeader {
  readonly version: number;
  /** Identifier of the store; absent in version 1. */
  readonly store?: string;
  /** Extent of the previous journal when this one started; null for the first, absent in version 1. */
  readonly previous?: Extent | null;
}

export function journalName(sequence: number): string {
  return `${String(sequence).padStart(8, '0')}.journal`;
}

/** The sequence number of a journal by its file name; null for another file. */
export function sequenceOf(name: string): number | null {
  const match = NAME.exec(name);
  return match && Number(match[1]);
}

/** A journal file as it was read. */
export interface JournalFile {
  readonly file: string;
  readonly sequence: number;
  readonly bytes: Buffer;
  readonly header: JournalHeader;
  /** Offset of the end of the header. */
  readonly start: number;
}

/** Changes of a journal file. */
export interface JournalContent {
  readonly changes: readonly Change[];
  /** Offset of the end of the last complete batch; one byte more than the file if only its line break is missing. */
  readonly length: number;
  /** Checksum of the last complete line, as the line has it. */
  readonly lastChecksum: string;
}

/** Whether batches can be appended to a journal that was read: those of former versions are only replayed. */
export function isCurrentVersion({ version }: JournalHeader): boolean {
  return version === VERSION;
}

/** @throws Failure service_error, code `store_corrupt`, if the file is not the journal with this number */
export async function loadJournal(
  files: Files,
  folder: string,
  sequence: number,
): Promise<JournalFile> {
  const file = join(folder, journalName(sequence));
  const bytes = await files.readFile(file).catch(missingAs(null));
  if (bytes === null) throw corruptStore(file, 'this journal is missing');
  const line = readLine(bytes, 0);
  if (line === null) throw corruptStore(file, 'this is not the beginning of a journal', 0);
  const header = JSON.parse(line.payload.toString()) as JournalHeader & Record<string, unknown>;
  const { format, version } = header;
  if (format === FORMAT && version > VERSION) throw newerStore(file, version, VERSION);
  if (format === undefined) throw corruptStore(file, 'this is a batch, not the header', 0);
  if (format !== FORMAT || (version !== VERSION && !FORMER_VERSIONS.includes(version))) {
    throw corruptStore(file, `written as ${format} ${version}, which is unknown`, 0);
  }
  if (header['sequence'] !== sequence) {
    throw corruptStore(file, `the journal in it is number ${header['sequence']}`, 0);
  }
  return { file, sequence, bytes, header, start: line.end };
}

/**
 * Reads the batches of a journal up to the first that is incomplete or damaged.
 *
 * @param limit bytes to read
 * @throws Failure service_error, code `store_corrupt`, if complete batches follow that one, or a batch is missing
 */
export function readBatches(
  { file, bytes, header, start }: JournalFile,
  limit = bytes.length,
): JournalContent {
  const changes: Change[] = [];
  const isChained = isCurrentVersion(header);
  let lastChecksum = checksumAt(bytes, 0);
  let offset = start;
  while (offset < limit) {
    const line = readLine(bytes, offset);
    if (line === null) break;
    const payload: unknown = JSON.parse(line.payload.toString());
    if (!Array.isArray(payload)) throw corruptStore(file, 'this is a header, not a batch', offset);
    const [before, batch] = isChained
      ? (payload as unknown as ChainedBatch)
      : [lastChecksum, payload];
    // A power cut does not move lines: what was not written leaves a gap.
    if (before !== lastChecksum) {
      throw corruptStore(file, 'the batch before this one is missing', offset);
    }
    for (const change of batch as Change[]) changes.push(change);
    lastChecksum = checksumAt(bytes, offset);
    offset = line.end;
  }
  if (offset < limit && wasSynced(bytes, offset)) {
    throw corruptStore(file, 'a damaged batch is followed by complete ones', offset);
  }
  return { changes, length: offset, lastChecksum };
}

/** A batch, after the checksum of the line before it. */
type ChainedBatch = readonly [before: string, batch: readonly Change[]];

export function checksumAt(line: Buffer, start: number): string {
  return line.toString('latin1', start, start + CHECKSUM_LENGTH);
}

/** CRC-32 of a file up to a length. A missing line break at its end counts as present. */
export function checksumOf(bytes: Buffer, length: number): number {
  const checksum = crc32(bytes.subarray(0, length));
  return length > bytes.length ? crc32('\n', checksum) : checksum;
}

/**
 * Moves the bytes after the last complete batch to a file of their own.
 *
 * @returns what was moved; null if there was nothing
 */
export async function removeTail(
  files: Files,
  { file, bytes }: JournalFile,
  length: number,
): Promise<Recovery | null> {
  if (length === bytes.length) return null;
  const handle = await files.open(file, 'r+');
  try {
    if (length > bytes.length) {
      await handle.write('\n', bytes.length);
      await handle.sync();
      return null;
    }
    const torn = file.replace(/journal$/, `torn-${Date.now()}`);
    await writeDurably(files, torn, bytes.subarray(length));
    await handle.truncate(length);
    await handle.sync();
    return { file, offset: length, dropped: bytes.length - length, keptIn: torn };
  } finally {
    await handle.close();
  }
}
