import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Files, syncFolder } from '../files.ts';
import { corrupt } from './faults.ts';
import { encodeLine, lineAt, wasSynced } from './journal-line.ts';
import type { Change } from './state.ts';

const FORMAT = 'oriel-journal';
const VERSION = 1;
const NAME = /^(\d{8})\.journal$/;

/**
 * On Linux a write to a file opened with O_DSYNC returns once it is on disk: one step where write and
 * fdatasync are two, each with a trip to another thread (0.19 ms against 0.22). Elsewhere the flag
 * promises less.
 */
const WRITES_ARE_DURABLE = process.platform === 'linux';
const { O_WRONLY, O_CREAT, O_TRUNC, O_DSYNC } = constants;

/** The bytes at the end of a journal that a crash left behind: they were never acknowledged. */
export interface Recovery {
  readonly file: string;
  readonly offset: number;
  /** How many bytes were cut off. */
  readonly dropped: number;
}

export function journalName(sequence: number): string {
  return `${String(sequence).padStart(8, '0')}.journal`;
}

/** The sequence number of a journal by its file's name; null for another file. */
export function sequenceOf(name: string): number | null {
  const match = NAME.exec(name);
  return match && Number(match[1]);
}

/** What a journal file holds. */
export interface JournalContent {
  readonly changes: Change[];
  /** Where the last whole batch ends. */
  readonly length: number;
  /** Bytes behind it. */
  readonly torn: number;
}

/** How the journal after another one says what that one holds. */
export type End =
  /** It does not say; the journal is whole. */
  | 'whole'
  /** Nothing comes after it: the last batches may be torn. */
  | 'newest'
  /** Its length in bytes. What lies behind was refused to clients, and is not read. */
  | number;

/** What the header of a journal says of the journal before it. */
export async function endBefore(files: Files, file: string): Promise<End> {
  const handle = await files.open(file, 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    const line = lineAt(buffer, 0);
    const header = line && (JSON.parse(line.payload.toString()) as { previous?: unknown });
    return typeof header?.previous === 'number' ? header.previous : 'whole';
  } finally {
    await handle.close();
  }
}

/**
 * Reads a journal file.
 *
 * @throws Failure service_error, code `store_corrupt`
 */
export async function readJournal(
  files: Files,
  file: string,
  sequence: number,
  end: End,
): Promise<JournalContent> {
  let bytes = await files.readFile(file);
  let line = lineAt(bytes, 0);
  if (line === null) throw corrupt(file, 'this is not the beginning of a journal', 0);
  const header = JSON.parse(line.payload.toString()) as Record<string, unknown>;
  if (header['format'] !== FORMAT || header['version'] !== VERSION) {
    throw corrupt(file, `written as ${header['format']} ${header['version']}, which is unknown`, 0);
  }
  if (header['sequence'] !== sequence) {
    throw corrupt(file, `the journal in it is number ${header['sequence']}`, 0);
  }
  if (typeof end === 'number') {
    if (bytes.length < end) throw corrupt(file, `cut short: it had ${end} bytes`, bytes.length);
    bytes = bytes.subarray(0, end);
  }
  const changes: Change[] = [];
  let offset = line.end;
  while (offset < bytes.length) {
    line = lineAt(bytes, offset);
    if (line === null) break;
    for (const change of JSON.parse(line.payload.toString()) as Change[]) changes.push(change);
    offset = line.end;
  }
  if (offset < bytes.length && (end !== 'newest' || wasSynced(bytes, offset))) {
    throw corrupt(file, 'a damaged batch lies before others', offset);
  }
  return { changes, length: offset, torn: bytes.length - offset };
}

/** Cuts off what a crash left half written. */
export async function cutJournal(files: Files, file: string, length: number): Promise<void> {
  const handle = await files.open(file, 'r+');
  try {
    await handle.truncate(length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A file that batches are appended to, one at a time. */
export class Journal {
  readonly sequence: number;
  readonly #files: Files;
  readonly #file: string;
  readonly #handle: FileHandle;
  /** The same file, opened so that a write returns once it is on disk; null where that is not known to hold. */
  readonly #durable: FileHandle | null;
  #length: number;
  #synced: number;

  private constructor(
    files: Files,
    file: string,
    sequence: number,
    handles: readonly [FileHandle, FileHandle | null],
    length: number,
  ) {
    this.#files = files;
    this.#file = file;
    this.sequence = sequence;
    [this.#handle, this.#durable] = handles;
    this.#length = length;
    this.#synced = length;
  }

  /**
   * Makes a new file under a temporary name, to be appended to before it is published.
   *
   * @param previous bytes of the journal before it that count; null where it is the first
   */
  static async prepare(
    files: Files,
    folder: string,
    sequence: number,
    previous: number | null,
  ): Promise<Journal> {
    const file = join(folder, journalName(sequence));
    const handles = await openBoth(files, `${file}.new`, O_CREAT | O_TRUNC);
    const journal = new Journal(files, file, sequence, handles, 0);
    try {
      const header = {
        format: FORMAT,
        version: VERSION,
        sequence,
        previous: previous ?? undefined,
      };
      await journal.append(JSON.stringify(header));
      return journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  /** Gives the file its name. */
  async publish(): Promise<void> {
    await this.#handle.sync();
    await this.#files.rename(`${this.#file}.new`, this.#file);
  }

  /**
   * Syncs the name. Until this has succeeded a start may find the file or not: nothing may be appended
   * to it, nor to the journal before it.
   */
  async syncName(): Promise<void> {
    await syncFolder(this.#files, dirname(this.#file));
  }

  /** Goes on with a file that was read, from where its last whole batch ends. */
  static async resume(
    files: Files,
    folder: string,
    sequence: number,
    length: number,
  ): Promise<Journal> {
    const file = join(folder, journalName(sequence));
    const handles = await openBoth(files, file);
    const journal = new Journal(files, file, sequence, handles, length);
    try {
      // A process that was killed may have left batches in the page cache alone.
      await handles[0].datasync();
      return journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  /** Bytes in the file. */
  get length(): number {
    return this.#length;
  }

  /** Bytes that are on disk. */
  get synced(): number {
    return this.#synced;
  }

  /**
   * Writes a batch, and syncs it with all before it. Where that fails, some of it may be in the file
   * until `cut`.
   *
   * @returns bytes written
   */
  async append(json: string): Promise<number> {
    const isSynced = this.#synced === this.#length;
    const bytes = encodeLine(json, isSynced);
    const durable = isSynced ? this.#durable : null;
    const handle = durable ?? this.#handle;
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.length - written;
      const position = this.#length + written;
      written += (await handle.write(bytes, written, rest, position)).bytesWritten;
    }
    // O_DSYNC syncs the bytes of its own write alone, not those that were written without.
    if (durable === null) await handle.datasync();
    this.#length += bytes.length;
    this.#synced = this.#length;
    return bytes.length;
  }

  /** Writes a batch that the next `append` syncs. A crash of the process keeps it, a power cut may not. */
  note(json: string): void {
    const bytes = encodeLine(json, this.#synced === this.#length);
    const { fd } = this.#handle;
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.length - written;
      written += this.#files.writeSync(fd, bytes, written, rest, this.#length + written);
    }
    this.#length += bytes.length;
  }

  /** Takes back what a failed write has left. */
  async cut(): Promise<void> {
    await this.#handle.truncate(this.#length);
    await this.#handle.sync();
  }

  async close(): Promise<void> {
    await this.#durable?.close();
    await this.#handle.close();
  }
}

async function openBoth(
  files: Files,
  file: string,
  flags = 0,
): Promise<[FileHandle, FileHandle | null]> {
  const handle = await files.open(file, O_WRONLY | flags, 0o600);
  if (!WRITES_ARE_DURABLE) return [handle, null];
  try {
    return [handle, await files.open(file, O_WRONLY | O_DSYNC)];
  } catch (error) {
    await handle.close();
    throw error;
  }
}
