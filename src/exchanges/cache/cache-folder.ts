import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../folders.ts';
import type { CachedAnswer, CacheSizes, CacheStorage } from '../../store/cache-storage.ts';

/** Only the user who runs the daemon may read answers. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Key, model, the times of storage and expiry in milliseconds, and bytes on the disk. */
const FILE = /^([0-9a-f]{64})-([0-9a-f]{16})-(\d{1,15})-(\d{1,15})-(\d{1,15})\.json$/;

const BLOCK_BYTES = 4096;

interface Entry {
  readonly path: string;
  /** Digest of the model's identifier, which may not fit into the name of a file. */
  readonly model: string;
  readonly storedAt: number;
  readonly expiresAt: number;
  readonly size: number;
}

/** A cached answer, or any other result, as bytes of a file. A file is incomplete unless it ends with `END`. */
export interface CachedBytes extends Omit<CachedAnswer, 'text'> {
  readonly bytes: Buffer;
}

export const END = '\n}\n';

/** Cached answers as files of one daemon: a folder for each account, a file for each answer. */
export class CacheFolder implements CacheStorage {
  readonly #folder: string;
  readonly #sizes: () => CacheSizes;
  readonly #now: () => number;
  /** By account and key; the least recently used first. After a restart, the oldest. */
  readonly #entries = new Map<string, Entry>();
  /** Bytes by digest of a model. */
  readonly #bytes = new Map<string, number>();
  #loading: Promise<void> | null = null;

  constructor(folder: string, sizes: () => CacheSizes, now: () => number) {
    this.#folder = folder;
    this.#sizes = sizes;
    this.#now = now;
  }

  async find(accountId: string, key: string): Promise<CachedAnswer | undefined> {
    const { bytes, ...found } = (await this.read(accountId, key)) ?? {};
    return bytes && { ...(found as CachedBytes), text: bytes.toString() };
  }

  async read(accountId: string, key: string): Promise<CachedBytes | undefined> {
    await this.#loaded();
    const name = `${accountId}/${key}`;
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const { path, model, storedAt, expiresAt } = entry;
    const bytes = await readFile(path).catch(() => null);
    if (bytes?.subarray(-END.length).equals(Buffer.from(END))) {
      await this.touch(accountId, key);
      return { accountId, key, model, storedAt, expiresAt, bytes };
    }
    // Another answer has replaced it meanwhile.
    if (this.#entries.get(name) !== entry) return this.read(accountId, key);
    // Removed by hand, or cut off by a power failure.
    await this.#remove(name);
    return undefined;
  }

  add({ text, ...answer }: CachedAnswer): Promise<void> {
    return this.write({ ...answer, bytes: Buffer.from(text) });
  }

  async write({ accountId, key, model, storedAt, expiresAt, bytes }: CachedBytes): Promise<void> {
    await this.#loaded();
    const size = Math.ceil(bytes.length / BLOCK_BYTES) * BLOCK_BYTES;
    const most = this.#sizes().get(model) ?? 0;
    if (size > most) return;
    const digest = digestOf(model);
    const folder = join(this.#folder, accountId);
    await makeFolders(folder, FOLDER_MODE);
    const temporary = join(folder, `${randomUUID()}.tmp`);
    const path = join(folder, `${key}-${digest}-${storedAt}-${expiresAt}-${size}.json`);
    try {
      await writeFile(temporary, bytes, { mode: FILE_MODE, flag: 'wx' });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await this.#insert(`${accountId}/${key}`, { path, model: digest, storedAt, expiresAt, size });
    await this.#shrink(digest, most);
  }

  async touch(accountId: string, key: string): Promise<void> {
    const name = `${accountId}/${key}`;
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
  }

  async trim(sizes: CacheSizes): Promise<void> {
    await this.#loaded();
    const now = this.#now();
    for (const [name, { expiresAt }] of this.#entries) {
      if (expiresAt <= now) await this.#remove(name);
    }
    const most = new Map([...sizes].map(([id, size]) => [digestOf(id), size]));
    for (const model of this.#bytes.keys()) await this.#shrink(model, most.get(model) ?? 0);
  }

  /** Removes the least recently used answers of a model. */
  async #shrink(model: string, most: number): Promise<void> {
    for (const [name, entry] of this.#entries) {
      if (this.#bytes.get(model)! <= most) return;
      if (entry.model === model) await this.#remove(name);
    }
  }

  #loaded(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    const found: { readonly name: string; readonly entry: Entry }[] = [];
    for (const account of await readdir(this.#folder).catch(() => [])) {
      for (const file of await readdir(join(this.#folder, account)).catch(() => [])) {
        const path = join(this.#folder, account, file);
        // A crash interrupted the write.
        if (file.endsWith('.tmp')) await rm(path, { force: true });
        const [, key, model, ...numbers] = FILE.exec(file) ?? [];
        if (model === undefined) continue;
        const [storedAt = 0, expiresAt = 0, size = 0] = numbers.map(Number);
        found.push({
          name: `${account}/${key}`,
          entry: { path, model, storedAt, expiresAt, size },
        });
      }
    }
    found.sort((a, b) => a.entry.storedAt - b.entry.storedAt);
    // After a crash, an answer and its replacement may both exist; the newer one wins.
    for (const { name, entry } of found) await this.#insert(name, entry);
  }

  /** Adds an answer, and removes the file of the one that it replaces. */
  async #insert(name: string, entry: Entry): Promise<void> {
    const former = this.#forget(name);
    this.#entries.set(name, entry);
    this.#bytes.set(entry.model, (this.#bytes.get(entry.model) ?? 0) + entry.size);
    if (former !== undefined && former.path !== entry.path) await rm(former.path, { force: true });
  }

  #forget(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    this.#entries.delete(name);
    this.#bytes.set(entry.model, this.#bytes.get(entry.model)! - entry.size);
    return entry;
  }

  async #remove(name: string): Promise<void> {
    const entry = this.#forget(name);
    if (entry !== undefined) await rm(entry.path, { force: true });
  }
}

function digestOf(model: string): string {
  return createHash('sha256').update(model).digest('hex').slice(0, 16);
}
