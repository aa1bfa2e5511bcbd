import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../folders.ts';
import type { CachedAnswer, CacheStorage, SizeOf } from '../../store/cache-storage.ts';

/** Only the user of the daemon reads answers. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Key, model, and the times of storage and expiry in milliseconds. */
const FILE = /^([0-9a-f]{64})-([0-9a-f]{16})-(\d{1,15})-(\d{1,15})\.json$/;

const BLOCK_BYTES = 4096;

/** Files whose sizes are read at once. */
const PARALLEL = 32;

interface Entry {
  readonly path: string;
  /** Digest of the model's identifier, which may not fit into the name of a file. */
  readonly model: string;
  readonly storedAt: number;
  readonly expiresAt: number;
  /** Bytes on the disk. */
  readonly size: number;
}

/** Cached answers as files of one daemon: a folder for each account, a file for each answer. */
export class CacheFolder implements CacheStorage {
  readonly #folder: string;
  readonly #sizeOf: SizeOf;
  readonly #now: () => number;
  /** By account and key; the least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Bytes and identifier by digest of a model; the identifier is empty until an answer of it is added. */
  readonly #models = new Map<string, { bytes: number; id: string | null }>();
  #loading: Promise<void> | null = null;

  constructor(folder: string, sizeOf: SizeOf, now: () => number) {
    this.#folder = folder;
    this.#sizeOf = sizeOf;
    this.#now = now;
  }

  async find(accountId: string, key: string): Promise<CachedAnswer | undefined> {
    await this.#loaded();
    const name = `${accountId}/${key}`;
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const { path, model, storedAt, expiresAt } = entry;
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null || !text.endsWith('\n}\n')) {
      // Another answer has replaced it meanwhile.
      if (this.#entries.get(name) !== entry) return this.find(accountId, key);
      // Removed by hand, or cut off by a power failure.
      await this.#remove(name);
      return undefined;
    }
    await this.touch(accountId, key);
    return { accountId, key, model, storedAt, expiresAt, text };
  }

  async add(answer: CachedAnswer): Promise<void> {
    await this.#loaded();
    const { accountId, key, model: id, storedAt, expiresAt, text } = answer;
    const most = this.#sizeOf(id);
    const size = sizeOnDisk(Buffer.byteLength(text));
    if (size > most) return;
    const model = digestOf(id);
    const folder = join(this.#folder, accountId);
    await makeFolders(folder, FOLDER_MODE);
    const temporary = join(folder, `${randomUUID()}.tmp`);
    const path = join(folder, `${key}-${model}-${storedAt}-${expiresAt}.json`);
    try {
      await writeFile(temporary, text, { mode: FILE_MODE, flag: 'wx' });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    const name = `${accountId}/${key}`;
    const former = this.#forget(name);
    this.#insert(name, { path, model, storedAt, expiresAt, size });
    this.#models.get(model)!.id = id;
    if (former !== undefined && former.path !== path) await rm(former.path, { force: true });
    await this.#shrink(model, most);
  }

  async touch(accountId: string, key: string): Promise<void> {
    const name = `${accountId}/${key}`;
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const now = this.#now() / 1000;
    // A restart reads the order from the times of the files.
    await utimes(entry.path, now, now).catch(() => {});
  }

  async trim(sizeOf: SizeOf): Promise<void> {
    await this.#loaded();
    const now = this.#now();
    for (const [name, { expiresAt }] of this.#entries) {
      if (expiresAt <= now) await this.#remove(name);
    }
    for (const [model, { id }] of this.#models) {
      if (id !== null) await this.#shrink(model, sizeOf(id));
    }
  }

  #loaded(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    const found: { readonly name: string; readonly entry: Entry; readonly usedAt: number }[] = [];
    const paths: (readonly [account: string, file: string])[] = [];
    for (const account of await readdir(this.#folder).catch(() => [])) {
      const files = await readdir(join(this.#folder, account)).catch(() => []);
      for (const file of files) paths.push([account, file]);
    }
    const readNext = async () => {
      for (let next = paths.pop(); next !== undefined; next = paths.pop()) {
        const [account, file] = next;
        const path = join(this.#folder, account, file);
        // Left by a crash.
        if (file.endsWith('.tmp')) await rm(path, { force: true });
        const [, key, model = '', storedAt, expiresAt] = FILE.exec(file) ?? [];
        const status = key === undefined ? null : await stat(path).catch(() => null);
        if (status === null) continue;
        const times = { storedAt: Number(storedAt), expiresAt: Number(expiresAt) };
        const entry = { path, model, size: sizeOnDisk(status.size), ...times };
        found.push({ name: `${account}/${key}`, entry, usedAt: status.mtimeMs });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, readNext));
    found.sort((a, b) => a.usedAt - b.usedAt);
    for (const { name, entry } of found) {
      // A crash left the former answer beside its successor.
      await this.#remove(name);
      this.#insert(name, entry);
    }
  }

  /** Removes the answers of a model that were not used for longest. */
  async #shrink(model: string, most: number): Promise<void> {
    const sum = this.#models.get(model)!;
    if (sum.bytes <= most) return;
    for (const [name, entry] of this.#entries) {
      if (sum.bytes <= most) break;
      if (entry.model === model) await this.#remove(name);
    }
  }

  #insert(name: string, entry: Entry): void {
    this.#entries.set(name, entry);
    const sum = this.#models.get(entry.model) ?? { bytes: 0, id: null };
    sum.bytes += entry.size;
    this.#models.set(entry.model, sum);
  }

  #forget(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    this.#entries.delete(name);
    this.#models.get(entry.model)!.bytes -= entry.size;
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

function sizeOnDisk(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}
