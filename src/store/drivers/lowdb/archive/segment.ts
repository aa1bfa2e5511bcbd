import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { codedFailure, Failure } from '../../../../failure.ts';
import { type Files, missingAs, readAt } from '../../../files.ts';
import { corruptStore, storeUnavailable } from '../files/errors.ts';
import {
  type AccountPart,
  compareKeys,
  ENTRIES_PER_PAGE,
  ENTRY,
  type Entry,
  encodeKey,
  type Footer,
  hashIn,
  hasValidChecksum,
  headerOf,
  indexIn,
  KEY,
  KEYS_PER_PAGE,
  PAGE,
  readEntry,
  type SegmentFile,
} from './layout.ts';

/** A record of a segment. */
export interface SegmentRecord {
  readonly segment: Segment;
  /** Index in the directory of the segment. */
  readonly index: number;
  readonly entry: Entry;
}

export interface SegmentOptions {
  readonly files: Files;
  readonly folder: string;
  readonly store: string;
  /** Hashes of the keys of a record. */
  readonly keysOf: (body: unknown) => readonly Buffer[];
  /** Called with an error that names a damaged file and the offset. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Reads a segment. Checksums are verified on each read: damage is reported to the operator, and the caller
 * gets `service_error`, 500 `record_damaged`, never a part of what was stored.
 */
export class Segment {
  readonly file: SegmentFile;
  readonly footer: Footer;
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #onFault: (error: unknown) => void;
  readonly #keysOf: SegmentOptions['keysOf'];
  /** All keys, ascending, from the records; null while no page of keys is known to be damaged. */
  #rebuilt: Promise<Buffer> | null = null;
  #hasRebuiltKeys = false;
  readonly #accounts: ReadonlyMap<string, AccountPart>;

  private constructor(
    file: SegmentFile,
    footer: Footer,
    handle: FileHandle,
    { folder, onFault, keysOf }: SegmentOptions,
  ) {
    this.file = file;
    this.footer = footer;
    this.#path = join(folder, file.file);
    this.#handle = handle;
    this.#onFault = onFault;
    this.#keysOf = keysOf;
    this.#accounts = new Map(footer.accounts.map((part) => [part.id, part]));
  }

  /** @throws Failure service_error, code `store_corrupt`, if the file is missing or differs from what was written */
  static async open(file: SegmentFile, options: SegmentOptions): Promise<Segment> {
    const { files, folder, store } = options;
    const path = join(folder, file.file);
    const handle = await files.open(path, 'r').catch(missingAs(null));
    if (handle === null) {
      const what =
        'missing, although checkpoint.json names it: the file was lost, or checkpoint.json is from another backup';
      throw corruptStore(path, what);
    }
    try {
      const { size } = await handle.stat();
      if (size !== file.length) {
        throw corruptStore(path, `it has ${size} bytes, but ${file.length} were written`);
      }
      const header = await readAt(handle, 0, file.header);
      const end = await readAt(handle, file.length - file.footer, file.footer);
      if (
        crc32(end, crc32(header)) !== file.checksum ||
        !header.equals(headerOf(store, file.number))
      )
        throw corruptStore(path, 'the content differs from what was written');
      return new Segment(file, JSON.parse(end.toString()) as Footer, handle, options);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get number(): number {
    return this.file.number;
  }

  /** Whether the file has a damaged page of keys, which a merge writes again. */
  get hasRebuiltKeys(): boolean {
    return this.#hasRebuiltKeys;
  }

  accountOf({ account }: Entry): string {
    return this.footer.accounts[account]!.id;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Records of an account, newest first. @param before upper bound of the order, exclusive */
  async *newest(account: string, before: number): AsyncGenerator<SegmentRecord> {
    const part = this.#accounts.get(account);
    if (!part) return;
    const directory = this.#directory();
    let low = part.start;
    let high = part.start + part.count;
    if (before !== Infinity) {
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((await directory(middle)).order < before) low = middle + 1;
        else high = middle;
      }
    }
    for (let index = high - 1; index >= part.start; index -= 1) {
      yield { segment: this, index, entry: await directory(index) };
    }
  }

  /** Records of an account, oldest first; without an account, all records by account. */
  async *oldest(account?: string): AsyncGenerator<SegmentRecord> {
    const all = { start: 0, count: this.footer.entries };
    const part = account === undefined ? all : this.#accounts.get(account);
    if (!part) return;
    const directory = this.#directory();
    for (let index = part.start; index < part.start + part.count; index += 1) {
      yield { segment: this, index, entry: await directory(index) };
    }
  }

  /** Records with a hash. It may be the hash of another key. */
  async *find(hash: Buffer): AsyncGenerator<SegmentRecord> {
    const { fences, keys } = this.footer;
    const wanted = hash.toString('hex');
    // All hashes before the last page that begins below the wanted one are smaller.
    let low = 0;
    let high = fences.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (fences[middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    for (let number = Math.max(0, low - 1); number < fences.length; number += 1) {
      if (fences[number]! > wanted) return;
      const page = await this.#keyPage(number);
      const count = Math.min(KEYS_PER_PAGE, keys - number * KEYS_PER_PAGE);
      for (let at = 0; at < count; at += 1) {
        const key = page.subarray(at * KEY, (at + 1) * KEY);
        const order = compareKeys(hashIn(key), hash);
        if (order > 0) return;
        if (order < 0) continue;
        const index = indexIn(key);
        yield { segment: this, index, entry: await this.#directory()(index) };
      }
    }
  }

  /** All keys, ascending. */
  async *keys(): AsyncGenerator<Buffer> {
    const { fences, keys } = this.footer;
    for (let number = 0; number < fences.length; number += 1) {
      const page = await this.#keyPage(number);
      const count = Math.min(KEYS_PER_PAGE, keys - number * KEYS_PER_PAGE);
      for (let at = 0; at < count; at += 1) yield page.subarray(at * KEY, (at + 1) * KEY);
    }
  }

  /** @throws Failure `record_damaged` if the keys of a damaged page are not in the records either */
  async #keyPage(number: number): Promise<Buffer> {
    const { directory, entries } = this.footer;
    const offset = directory + (Math.ceil(entries / ENTRIES_PER_PAGE) + number) * PAGE;
    const page = await this.#read(offset, PAGE);
    if (hasValidChecksum(page)) return page;
    this.#rebuilt ??= this.#rebuildKeys(offset).catch((error: unknown) => {
      // Reading may succeed the next time, and costs as much as the segment is long.
      if (!(error instanceof Failure) || error.code !== 'record_damaged') this.#rebuilt = null;
      throw error;
    });
    const keys = await this.#rebuilt;
    return keys.subarray(number * KEYS_PER_PAGE * KEY, (number + 1) * KEYS_PER_PAGE * KEY);
  }

  /** @param damaged offset of a damaged page */
  async #rebuildKeys(damaged: number): Promise<Buffer> {
    const keys: Buffer[] = [];
    for await (const { index, entry } of this.oldest()) {
      const body: unknown = JSON.parse((await this.body(entry)).toString());
      for (const hash of this.#keysOf(body)) keys.push(encodeKey(hash, index));
    }
    const what = 'a page of keys differs from what was written';
    if (keys.length !== this.footer.keys) throw this.#damaged(what, damaged);
    this.#hasRebuiltKeys = true;
    this.#onFault(
      new Error(
        `${this.#path}, byte ${damaged}: ${what}; the keys were read from the records, and a checkpoint will replace the file`,
      ),
    );
    return Buffer.concat(keys.sort(compareKeys));
  }

  async body({ offset, length, checksum }: Entry): Promise<Buffer> {
    const bytes = await this.#read(offset, length);
    if (crc32(bytes) !== checksum)
      throw this.#damaged('the record differs from what was written', offset);
    return bytes;
  }

  /** Returns a function that reads entries, and caches the page of the last one. */
  #directory(): (index: number) => Promise<Entry> {
    let number = -1;
    let page: Buffer;
    return async (index) => {
      const wanted = Math.floor(index / ENTRIES_PER_PAGE);
      if (wanted !== number) {
        page = await this.#page(this.footer.directory + wanted * PAGE);
        number = wanted;
      }
      return readEntry(page, (index % ENTRIES_PER_PAGE) * ENTRY);
    };
  }

  async #page(offset: number): Promise<Buffer> {
    const page = await this.#read(offset, PAGE);
    if (!hasValidChecksum(page))
      throw this.#damaged('the page differs from what was written', offset);
    return page;
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    let bytes: Buffer;
    try {
      bytes = await readAt(this.#handle, offset, length);
    } catch (error) {
      throw storeUnavailable(error, 'the archive cannot be read');
    }
    if (bytes.length < length) throw this.#damaged('the file ends too early', offset);
    return bytes;
  }

  #damaged(what: string, offset: number): Failure {
    const cause = corruptStore(this.#path, what, offset);
    this.#onFault(cause);
    return codedFailure('record_damaged', 'a record is damaged on the disk of this server', {
      cause,
    });
  }
}

export async function bodyOf({ segment, entry }: SegmentRecord): Promise<unknown> {
  return JSON.parse((await segment.body(entry)).toString());
}
