import { constants, type Stats, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Files, isMissing, syncFolder, writeDurably } from '../../files.ts';
import type { Recovery } from '../../options.ts';
import { corruptStore } from '../errors.ts';
import type { Change } from '../state/state.ts';
import { encodeLine, readLine, wasSynced } from './line.ts';

const FORMAT = 'oriel-journal';
const VERSION = 2;
/** Written before stores had an identity. */
const FORMER_VERSION = 1;
const NAME = /^(\d{8})\.journal$/;

/**
 * On Linux a write to a file opened with O_DSYNC returns once it is on disk: one step where write and
 * fdatasync are two, each with a trip to another thread (0.19 ms against 0.22). Elsewhere the flag
 * promises less.
 */
const WRITES_ARE_DURABLE = process.platform === 'linux';
const { O_WRONLY, O_CREAT, O_TRUNC, O_DSYNC } = constants;

/** A journal that is closed, and to be replayed at the next start until a checkpoint has its changes. */
export interface ClosedJournal {
  readonly sequence: number;
  readonly length: number;
}

/** The beginning of a journal file. */
export interface Extent {
  /** Bytes. */
  readonly length: number;
  /** CRC-32 of these. */
  readonly checksum: number;
  /** Whether the bytes behind it are void: what a failed write left, and could not be cut off. */
  readonly isFinal: boolean;
}

export interface JournalHeader {
  readonly version: number;
  /** Identifier of the store; version 1 had none. */
  readonly store?: string;
  /** What the journal before held when this one began; null for the first. Version 1 did not tell. */
  readonly previous?: Extent | null;
}

export function journalName(sequence: number): string {
  return `${String(sequence).padStart(8, '0')}.journal`;
}

/** The sequence number of a journal by its file's name; null for another file. */
export function sequenceOf(name: string): number | null {
  const match = NAME.exec(name);
  return match && Number(match[1]);
}

/** A journal as it is stored. */
export interface JournalFile {
  readonly file: string;
  readonly sequence: number;
  readonly bytes: Buffer;
  readonly header: JournalHeader;
  /** Where the header ends. */
  readonly start: number;
}

/** What a journal file reservations. */
export interface JournalContent {
  readonly changes: readonly Change[];
  /** Where the last whole batch ends: one byte behind the file where only its line break is missing. */
  readonly length: number;
}

/** @throws Failure service_error, code `store_corrupt`, where the file is no journal of this sequence */
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
  if (format !== FORMAT || (version !== VERSION && version !== FORMER_VERSION)) {
    throw corruptStore(file, `written as ${format} ${version}, which is unknown`, 0);
  }
  if (header['sequence'] !== sequence) {
    throw corruptStore(file, `the journal in it is number ${header['sequence']}`, 0);
  }
  return { file, sequence, bytes, header, start: line.end };
}

/**
 * Reads the batches of a journal up to the first that is not whole.
 *
 * @param limit bytes to read
 * @throws Failure service_error, code `store_corrupt`, where whole batches follow that one
 */
export function readBatches(
  { file, bytes, start }: JournalFile,
  limit = bytes.length,
): JournalContent {
  const changes: Change[] = [];
  let offset = start;
  while (offset < limit) {
    const line = readLine(bytes, offset);
    if (line === null) break;
    for (const change of JSON.parse(line.payload.toString()) as Change[]) changes.push(change);
    offset = line.end;
  }
  if (offset < limit && wasSynced(bytes, offset)) {
    throw corruptStore(file, 'a damaged batch lies before others', offset);
  }
  return { changes, length: offset };
}

/** CRC-32 of a file up to a length. A line break that is missing at its end counts as there. */
export function checksumOf(bytes: Buffer, length: number): number {
  const checksum = crc32(bytes.subarray(0, length));
  return length > bytes.length ? crc32('\n', checksum) : checksum;
}

/**
 * Sets the bytes behind the last whole batch aside in a file of their own, and cuts them off.
 *
 * @returns what was set aside; null where nothing had to be
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
  /** The same file, opened so that a write returns once it is on disk; null where that is not known to hold. */
  readonly durable: FileHandle | null;
  readonly inode: string;
}

/** What a journal tells of itself and of the one before it. */
interface Identity {
  /** Identifier of the store. */
  readonly store: string;
  /** What the journal before held when this one began; null for the first. */
  readonly previous: Extent | null;
}

/** A file that batches are appended to, one at a time. */
export class Journal {
  readonly store: string;
  readonly sequence: number;
  readonly previous: Extent | null;
  readonly #files: Files;
  readonly #open: OpenFile;
  /** Bytes in the file, and their checksum. */
  #length: number;
  #checksum: number;
  /** What is on disk. */
  #synced: { readonly length: number; readonly checksum: number };
  /** Whether bytes of a failed write may lie behind `#length`. */
  #isDirty = false;

  private constructor(
    files: Files,
    { store, previous }: Identity,
    sequence: number,
    place: OpenFile,
    content: { readonly length: number; readonly checksum: number },
  ) {
    this.#files = files;
    this.store = store;
    this.sequence = sequence;
    this.previous = previous;
    this.#open = place;
    this.#length = content.length;
    this.#checksum = content.checksum;
    this.#synced = content;
  }

  /**
   * Begins a new file, on disk with its name before this resolves.
   *
   * @param first a batch that it has from the first moment
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
    const lines = [JSON.stringify(header), ...(first === null ? [] : [first])];
    const bytes = Buffer.concat(lines.map((line) => encodeLine(line)));
    const place = await openFile(files, file, `${file}.new`, O_CREAT | O_TRUNC);
    try {
      await writeAt(place.handle, bytes, 0);
      await place.handle.sync();
      await files.rename(`${file}.new`, file);
      await syncFolder(files, folder);
      const content = { length: bytes.length, checksum: crc32(bytes) };
      return new Journal(files, { store, previous }, sequence, place, content);
    } catch (error) {
      await closeFile(place);
      throw error;
    }
  }

  /** Opens a file that was read and whose tail is cut, to append behind its last whole batch. */
  static async resume(
    files: Files,
    { file, sequence, bytes, header }: JournalFile,
    length: number,
  ): Promise<Journal> {
    const place = await openFile(files, file, file);
    const identity = { store: header.store!, previous: header.previous ?? null };
    const content = { length, checksum: checksumOf(bytes, length) };
    try {
      // A process that was killed may have left batches in the page cache alone.
      await place.handle.datasync();
      return new Journal(files, identity, sequence, place, content);
    } catch (error) {
      await closeFile(place);
      throw error;
    }
  }

  /** Bytes in the file. */
  get length(): number {
    return this.#length;
  }

  /** What is on disk. */
  get extent(): Extent {
    return { ...this.#synced, isFinal: this.#isDirty };
  }

  /**
   * Writes a batch, and syncs it with all before it. Where that fails, some of it may be in the file
   * until `cut`. It fails too where the file was moved, deleted, replaced or changed meanwhile:
   * nobody would find the batch again.
   *
   * @returns bytes written
   */
  async append(json: string): Promise<number> {
    const isSynced = this.#synced.length === this.#length;
    const bytes = encodeLine(json, isSynced);
    const durable = isSynced ? this.#open.durable : null;
    const handle = durable ?? this.#open.handle;
    this.checkFile((size) => size === this.#length);
    this.#isDirty = true;
    await writeAt(handle, bytes, this.#length);
    // O_DSYNC syncs the bytes of its own write alone, not those that were written without.
    if (durable === null) await handle.datasync();
    this.#written(bytes);
    this.#synced = { length: this.#length, checksum: this.#checksum };
    return bytes.length;
  }

  /** Writes a batch that the next `append` syncs. A crash of the process keeps it, a power cut may not. */
  appendUnsynced(json: string): void {
    const bytes = encodeLine(json, this.#synced.length === this.#length);
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

  #written(bytes: Uint8Array): void {
    this.checkFile((size) => size === this.#length + bytes.length);
    this.#length += bytes.length;
    this.#checksum = crc32(bytes, this.#checksum);
    this.#isDirty = false;
  }

  /** Takes back what a failed write has left. */
  async truncateFailedWrite(): Promise<void> {
    if (!this.#isDirty) return;
    await this.#open.handle.truncate(this.#length);
    await this.#open.handle.sync();
    this.#isDirty = false;
  }

  async close(): Promise<void> {
    await closeFile(this.#open);
  }

  /** @throws where the path leads to another file than the open one, or to nothing, or to fewer bytes */
  checkPlace(): void {
    this.checkFile((size) => size >= this.#length);
  }

  /** Synchronous: it takes 2 µs, where a trip to another thread takes 30. */
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

/** @param path where it is opened; it may be renamed to `file` later */
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
