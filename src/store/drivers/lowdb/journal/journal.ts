import { constants, type Stats, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Files, isMissing, syncFolder, writeDurably } from '../../../files.ts';
import { encodeLine, readLine, wasSynced } from '../../../line.ts';
import type { Recovery } from '../../../options.ts';
import { corruptStore, newerStore } from '../files/errors.ts';
import type { Change } from '../state/state.ts';

const FORMAT = 'oriel-journal';
const VERSION = 3;
/** Versions before stores had identifiers (1), and before batches named the line before them (2). */
const FORMER_VERSIONS = [1, 2];
/** Characters of a line's checksum, with which it begins. */
const CHECKSUM_LENGTH = 8;
const NAME = /^(\d{8})\.journal$/;

/**
 * On Linux a write to a file opened with O_DSYNC returns once it is on disk. One call took 0.19 ms, a
 * write and an fdatasync, each on another thread, 0.22 ms. Other systems guarantee less for the flag.
 */
const WRITES_ARE_DURABLE = process.platform === 'linux';
const { O_WRONLY, O_CREAT, O_TRUNC, O_DSYNC } = constants;

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
  let bytes: Buffer;
  try {
    bytes = await files.readFile(file);
  } catch (error) {
    if (isMissing(error)) throw corruptStore(file, 'this journal is missing');
    throw error;
  }
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

function checksumAt(line: Buffer, start: number): string {
  return line.toString('latin1', start, start + CHECKSUM_LENGTH);
}

/** @param json batch @param before checksum of the line before it */
function encodeBatch(json: string, before: string, afterSync = true): Buffer {
  return encodeLine(`["${before}",${json}]`, afterSync);
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

interface OpenFile {
  readonly file: string;
  readonly handle: FileHandle;
  /** Second descriptor of the file, opened with O_DSYNC; null on systems where the flag is not reliable. */
  readonly durable: FileHandle | null;
  readonly inode: string;
}

/** Fields of the header that depend on the store and the previous journal. */
interface Identity {
  /** Identifier of the store. */
  readonly store: string;
  /** Extent of the previous journal; null for the first. */
  readonly previous: Extent | null;
}

/** Journal file, to which batches are appended one at a time. */
export class Journal {
  readonly store: string;
  readonly sequence: number;
  readonly previous: Extent | null;
  readonly #files: Files;
  readonly #open: OpenFile;
  /** Length and checksum of the file. */
  #length: number;
  #checksum: number;
  #lastChecksum: string;
  /** Length and checksum of what is on disk. */
  #synced: { readonly length: number; readonly checksum: number };
  /** Whether the file may have bytes of a failed write after `#length`. */
  #isDirty = false;

  private constructor(
    files: Files,
    { store, previous }: Identity,
    sequence: number,
    place: OpenFile,
    content: { readonly length: number; readonly checksum: number },
    lastChecksum: string,
  ) {
    this.#files = files;
    this.store = store;
    this.sequence = sequence;
    this.previous = previous;
    this.#open = place;
    this.#length = content.length;
    this.#checksum = content.checksum;
    this.#lastChecksum = lastChecksum;
    this.#synced = content;
  }

  /**
   * Creates a file. It is on disk under its name before this resolves.
   *
   * @param first batch to write with the header
   */
  static async create(
    files: Files,
    folder: string,
    sequence: number,
    { store, previous }: Identity,
    first: string | null,
  ): Promise<Journal> {
    const file = join(folder, journalName(sequence));
    const header = { format: FORMAT, version: VERSION, store, sequence, previous };
    const lines = [encodeLine(JSON.stringify(header))];
    if (first !== null) lines.push(encodeBatch(first, checksumAt(lines[0]!, 0)));
    const bytes = Buffer.concat(lines);
    const place = await openFile(files, file, `${file}.new`, O_CREAT | O_TRUNC);
    try {
      await writeAt(place.handle, bytes, 0);
      await place.handle.sync();
      await files.rename(`${file}.new`, file);
      await syncFolder(files, folder);
      const content = { length: bytes.length, checksum: crc32(bytes) };
      const lastChecksum = checksumAt(lines.at(-1)!, 0);
      return new Journal(files, { store, previous }, sequence, place, content, lastChecksum);
    } catch (error) {
      await closeFile(place);
      throw error;
    }
  }

  /** Opens a file that was read and whose tail was removed, to append to it. */
  static async resume(
    files: Files,
    { file, sequence, bytes, header }: JournalFile,
    { length, lastChecksum }: Omit<JournalContent, 'changes'>,
  ): Promise<Journal> {
    const place = await openFile(files, file, file);
    const identity = { store: header.store!, previous: header.previous ?? null };
    const content = { length, checksum: checksumOf(bytes, length) };
    try {
      // A process that was killed may have left batches in the page cache only.
      await place.handle.datasync();
      return new Journal(files, identity, sequence, place, content, lastChecksum);
    } catch (error) {
      await closeFile(place);
      throw error;
    }
  }

  /** Bytes in the file. */
  get length(): number {
    return this.#length;
  }

  /** Extent that is on disk. */
  get extent(): Extent {
    return { ...this.#synced, isFinal: this.#isDirty };
  }

  /**
   * Writes a batch and syncs it with all before it. If that fails, the file may contain a part of it until
   * `truncateFailedWrite`. Fails also if the file was moved, deleted, replaced or changed meanwhile, since
   * the next start would not find the batch.
   *
   * @returns bytes written
   */
  async append(json: string): Promise<number> {
    const isSynced = this.#synced.length === this.#length;
    const bytes = encodeBatch(json, this.#lastChecksum, isSynced);
    const durable = isSynced ? this.#open.durable : null;
    const handle = durable ?? this.#open.handle;
    this.checkFile((size) => size === this.#length);
    this.#isDirty = true;
    await writeAt(handle, bytes, this.#length);
    // O_DSYNC syncs only the bytes of its own write, not earlier ones written without it.
    if (durable === null) await handle.datasync();
    this.checkFile((size) => size === this.#length + bytes.length);
    this.#written(bytes);
    this.#synced = { length: this.#length, checksum: this.#checksum };
    return bytes.length;
  }

  /**
   * Writes a batch that the next `append` syncs. It survives a crash of the process, but maybe not a power cut.
   * If the file is moved meanwhile, the next `append` fails, and these changes are written to a new journal.
   */
  appendUnsynced(json: string): void {
    const isSynced = this.#synced.length === this.#length;
    const bytes = encodeBatch(json, this.#lastChecksum, isSynced);
    const { fd } = this.#open.handle;
    this.checkFile((size) => size === this.#length);
    this.#isDirty = true;
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.length - written;
      written += this.#files.writeSync(fd, bytes, written, rest, this.#length + written);
    }
    this.#written(bytes);
  }

  #written(bytes: Buffer): void {
    this.#lastChecksum = checksumAt(bytes, 0);
    this.#length += bytes.length;
    this.#checksum = crc32(bytes, this.#checksum);
    this.#isDirty = false;
  }

  /** Removes the bytes of a failed write. */
  async truncateFailedWrite(): Promise<void> {
    if (!this.#isDirty) return;
    await this.#open.handle.truncate(this.#length);
    await this.#open.handle.sync();
    this.#isDirty = false;
  }

  async close(): Promise<void> {
    await closeFile(this.#open);
  }

  /** @throws if the path leads to another file than the open one, to none, or to one that is too short */
  checkPlace(): void {
    this.checkFile((size) => size >= this.#length);
  }

  /** Synchronous: takes 2 µs, where a call on another thread takes 30. */
  checkFile(fits: (size: number) => boolean): void {
    const { file, inode } = this.#open;
    const found = statSync(file, { throwIfNoEntry: false });
    if (found && inodeOf(found) === inode && fits(found.size)) return;
    throw new Error(
      found
        ? `${file} was replaced or changed while it was in use`
        : `${file} was moved or deleted while it was in use`,
    );
  }
}

/** @param path path to open; it may be renamed to `file` later */
async function openFile(files: Files, file: string, path: string, flags = 0): Promise<OpenFile> {
  const handle = await files.open(path, O_WRONLY | flags, 0o600);
  let durable: FileHandle | null = null;
  try {
    if (WRITES_ARE_DURABLE) durable = await files.open(path, O_WRONLY | O_DSYNC);
    return { file, handle, durable, inode: inodeOf(await handle.stat()) };
  } catch (error) {
    await durable?.close();
    await handle.close();
    throw error;
  }
}

async function closeFile({ handle, durable }: OpenFile): Promise<void> {
  await durable?.close();
  await handle.close();
}

function inodeOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

async function writeAt(handle: FileHandle, bytes: Uint8Array, start: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.length - written;
    written += (await handle.write(bytes, written, rest, start + written)).bytesWritten;
  }
}
