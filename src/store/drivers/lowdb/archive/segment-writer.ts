import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { FILE_MODE, remove, syncFolder } from '../../../files.ts';
import { TASK_STATES } from '../../../task.ts';
import {
  compareKeys,
  ENTRIES_PER_PAGE,
  ENTRY,
  type Entry,
  encodeKey,
  type Footer,
  hashIn,
  headerOf,
  KEY,
  KEYS_PER_PAGE,
  NO_TASK,
  PAGE,
  type SegmentFile,
  writeChecksum,
  writeEntry,
} from './layout.ts';
import type { SegmentOptions } from './segment.ts';

/** Bytes per write. */
const CHUNK_BYTES = 256 * 1024;

interface NewRecord extends Omit<Entry, 'account' | 'offset' | 'length' | 'checksum'> {
  readonly account: string;
  readonly body: Buffer;
}

interface SegmentWriterOptions extends Pick<SegmentOptions, 'files' | 'folder' | 'store'> {
  readonly file: string;
  readonly number: number;
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Writes one segment. It gets its name once all of it is on disk. */
export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #handle: FileHandle;
  readonly #header: Buffer;
  #chunks: Buffer[];
  #waiting: number;
  #length: number;
  readonly #directory: Buffer[] = [];
  readonly #accounts: Mutable<Footer['accounts'][number]>[] = [];
  readonly #states = TASK_STATES.map(() => 0);
  #entries = 0;
  #oldest = Infinity;
  #newest = 0;

  private constructor(options: SegmentWriterOptions, handle: FileHandle) {
    this.#options = options;
    this.#handle = handle;
    this.#header = headerOf(options.store, options.number);
    this.#chunks = [this.#header];
    this.#waiting = this.#length = this.#header.length;
  }

  static async create(options: SegmentWriterOptions): Promise<SegmentWriter> {
    const { files, folder, file } = options;
    const handle = await files.open(join(folder, `${file}.new`), 'w', FILE_MODE);
    return new SegmentWriter(options, handle);
  }

  /** Adds a record. Records must come in the order of accounts and of creation. @returns its index */
  async add({ body, account, ...record }: NewRecord): Promise<number> {
    const index = this.#entries;
    const { order, bytes, status, type, endedAt } = record;
    let part = this.#accounts.at(-1);
    if (part?.id !== account) {
      part = { id: account, start: index, count: 0, tasks: 0, bytes: 0 };
      this.#accounts.push(part);
    }
    part.count += 1;
    part.bytes += bytes;
    if (status !== NO_TASK) {
      part.tasks += 1;
      this.#states[status]! += 1;
    }
    this.#oldest = Math.min(this.#oldest, endedAt);
    this.#newest = Math.max(this.#newest, endedAt);
    const place = index % ENTRIES_PER_PAGE;
    if (place === 0) this.#directory.push(Buffer.alloc(PAGE));
    writeEntry(this.#directory.at(-1)!, place * ENTRY, {
      account: this.#accounts.length - 1,
      order,
      offset: this.#length,
      length: body.length,
      checksum: crc32(body),
      endedAt,
      bytes,
      status,
      type,
    });
    this.#entries += 1;
    await this.#write(body);
    return index;
  }

  /** Writes directory, keys and footer. @param keys hashes with indexes, ascending */
  async finish(keys: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<SegmentFile> {
    const { files, folder, file, store, number } = this.#options;
    const directory = this.#length;
    for (const page of this.#directory) await this.#write(writeChecksum(page));
    const fences: string[] = [];
    let count = 0;
    let page = Buffer.alloc(PAGE);
    for await (const key of keys) {
      const place = count % KEYS_PER_PAGE;
      if (place === 0) {
        if (count > 0) await this.#write(writeChecksum(page));
        page = Buffer.alloc(PAGE);
        fences.push(hashIn(key).toString('hex'));
      }
      key.copy(page, place * KEY);
      count += 1;
    }
    if (count > 0) await this.#write(writeChecksum(page));
    const footer: Footer = {
      store,
      number,
      directory,
      entries: this.#entries,
      keys: count,
      fences,
      accounts: this.#accounts,
      states: this.#states,
      oldest: this.#oldest,
      newest: this.#newest,
    };
    const end = Buffer.from(`${JSON.stringify(footer)}\n`);
    await this.#write(end);
    await this.#flush();
    await this.#handle.sync();
    await this.#handle.close();
    const path = join(folder, file);
    await files.rename(`${path}.new`, path);
    await syncFolder(files, folder);
    const checksum = crc32(end, crc32(this.#header));
    const [header, length] = [this.#header.length, this.#length];
    return { file, number, length, header, footer: end.length, checksum };
  }

  /** Removes the unfinished file. If that fails, `removeObsolete` removes it later. */
  async discard(): Promise<void> {
    const { files, folder, file } = this.#options;
    await this.#handle.close().catch(() => {});
    await remove(files, join(folder, `${file}.new`)).catch(() => {});
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#chunks.push(bytes);
    this.#waiting += bytes.length;
    this.#length += bytes.length;
    if (this.#waiting >= CHUNK_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#chunks, this.#waiting);
    this.#chunks = [];
    this.#waiting = 0;
    if (bytes.length > 0) await this.#handle.writeFile(bytes);
  }
}

/** A record to write, with the hashes of its keys. */
export interface ArchivedRecord extends NewRecord {
  readonly keys: readonly Buffer[];
}

export async function writeRecords(
  writer: SegmentWriter,
  records: Iterable<ArchivedRecord>,
): Promise<SegmentFile> {
  const keys: Buffer[] = [];
  for (const { keys: hashes, ...record } of records) {
    const index = await writer.add(record);
    for (const hash of hashes) keys.push(encodeKey(hash, index));
  }
  return writer.finish(keys.sort(compareKeys));
}
