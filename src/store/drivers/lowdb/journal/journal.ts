import { constants, type Stats, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { rethrowAfter } from '../../../../flow.ts';
import { type Files, syncFolder, writeAll, writeAllSync } from '../../../files.ts';
import { encodeLine } from '../../../line.ts';
import {
  checksumAt,
  checksumOf,
  type Extent,
  FORMAT,
  type JournalContent,
  type JournalFile,
  type JournalHeader,
  journalName,
  VERSION,
} from './journal-file.ts';

/**
 * On Linux a write to a file opened with O_DSYNC returns once it is on disk. One call took 0.19 ms, a
 * write and an fdatasync, each on another thread, 0.22 ms. Other systems guarantee less for the flag.
 */
const WRITES_ARE_DURABLE = process.platform === 'linux';
const { O_WRONLY, O_CREAT, O_TRUNC, O_DSYNC } = constants;

/** @param json batch @param before checksum of the line before it */
function encodeBatch(json: string, before: string, afterSync = true): Buffer {
  return encodeLine(`["${before}",${json}]`, afterSync);
}

interface OpenFile {
  readonly file: string;
  readonly handle: FileHandle;
  /** Second descriptor of the file, opened with O_DSYNC; null on systems where the flag is not reliable. */
  readonly durable: FileHandle | null;
  readonly inode: string;
}

/** Fields of the header that depend on the store and the previous journal. */
type Identity = Required<Pick<JournalHeader, 'store' | 'previous'>>;

/** Length and checksum of the beginning of a file. */
type Part = Omit<Extent, 'isFinal'>;

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
  #synced: Part;
  /** Whether the file may have bytes of a failed write after `#length`. */
  #isDirty = false;

  private constructor(
    files: Files,
    { store, previous }: Identity,
    sequence: number,
    place: OpenFile,
    content: Part,
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
    const write = async () => {
      await writeAll(place.handle, bytes, 0);
      await place.handle.sync();
      await files.rename(`${file}.new`, file);
      await syncFolder(files, folder);
      const content = { length: bytes.length, checksum: crc32(bytes) };
      const lastChecksum = checksumAt(lines.at(-1)!, 0);
      return new Journal(files, { store, previous }, sequence, place, content, lastChecksum);
    };
    return write().catch(rethrowAfter(() => closeFile(place)));
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
    // A process that was killed may have left batches in the page cache only.
    await place.handle.datasync().catch(rethrowAfter(() => closeFile(place)));
    return new Journal(files, identity, sequence, place, content, lastChecksum);
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
    await writeAll(handle, bytes, this.#length);
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
    writeAllSync(this.#files, fd, bytes, this.#length);
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
