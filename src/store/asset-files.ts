import { createHash, type Hash, randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../failure.ts';
import type { Asset } from './asset.ts';
import { notFound } from './errors.ts';
import {
  diskFiles,
  type Files,
  isMissing,
  makeFolder,
  namesIn,
  remove,
  syncFolder,
} from './files.ts';
import type { TimeRange } from './store.ts';

/** 256 random bits in base64url, and an extension. */
const ID = /^[\w-]{43}\.[a-z0-9]{1,8}$/;
const EXTENSION = /^[a-z0-9]{1,8}$/;
/** Name of one of 4096 subfolders: in one folder, too many files would be slow to list. */
const SUBFOLDER = /^[\w-]{2}$/;
/** Suffix of a file that is still being written. */
const UNFINISHED = '.new';

/** Bytes that one read of a file requests. */
const CHUNK_BYTES = 256 * 1024;

/** Subfolder for files without a record. It has one folder for each day on which files were moved there. */
const QUARANTINE = 'quarantine';
const DAY_FOLDER = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;
/** Days for which the quarantine keeps a file. Also in the README. */
const QUARANTINE_DAYS = 30;

/** Space that stays free for the store's journal: at most these bytes, or this share of the disk. */
const SPARE_BYTES = 64 * 2 ** 20;
const SPARE_SHARE = 1 / 16;

/** Seconds in `Retry-After` when the disk cannot take a file. */
const RETRY_AFTER_SECONDS = 30;

/** Maximum number of files whose verification is remembered. */
const MAX_VERIFIED = 100_000;

/** Size and checksum of a file that was written. */
type Written = Pick<Asset, 'bytes'> & { readonly sha256: string };

/** What the record of a file says about it. */
type StoredFile = Pick<Asset, 'id' | 'bytes' | 'sha256'>;

/** Disk space that files need. */
export interface DiskSpace {
  readonly bytes: number;
  readonly files: number;
}

/** Result of a sweep: how many files without a record it found. */
export interface SweepResult {
  /** Unfinished files, which were removed. */
  readonly removed: number;
  /** Files that were moved to the quarantine. */
  readonly quarantined: number;
  /** Files from outside the time range of the records, which were left in place. */
  readonly foreign: number;
}

interface AssetFilesOptions {
  readonly files?: Files;
  /** Called when a file differs from what was written. */
  readonly onDamage?: (id: string) => void;
}

/**
 * Files of assets, in a folder that no other process uses. A file appears under its name once all of it
 * is on disk, and never changes. The store's records say which files are in use.
 *
 * Failures: `invalid_request` with status 404 and code `asset_not_found` for an invalid name or a missing
 * file; `service_error` with status 503 and code `storage_unavailable` if the disk is full or fails, and
 * with status 500 and code `asset_damaged` if a file differs from what was written.
 */
export class AssetFiles {
  readonly #folder: string;
  readonly #files: Files;
  /** Subfolders that exist or are being created, and are synced to disk. */
  readonly #subfolders = new Map<string, Promise<void>>();
  /** Files that this process started to write: a sweep skips them. Null after the sweep. */
  #started: Set<string> | null = new Set();
  /** Files whose checksum matched, by identifier, with their ctime at that moment. */
  readonly #verified = new Map<string, number>();
  readonly #verifying = new Map<string, Promise<void>>();
  /** Space that is reserved and may not be used up yet. */
  readonly #reserved = { bytes: 0, files: 0 };
  readonly #onDamage: (id: string) => void;

  private constructor(folder: string, files: Files, onDamage: (id: string) => void) {
    this.#folder = folder;
    this.#files = files;
    this.#onDamage = onDamage;
  }

  static async open(
    folder: string,
    { files = diskFiles, onDamage = () => {} }: AssetFilesOptions = {},
  ): Promise<AssetFiles> {
    return onDisk(async () => {
      await makeFolder(files, folder);
      // A process that was killed may have created subfolders without syncing their names.
      await syncFolder(files, folder);
      return new AssetFiles(folder, files, onDamage);
    });
  }

  /** A random name. @param extension `png`; the media type that is served follows from it */
  newId(extension: string): string {
    if (EXTENSION.test(extension)) return `${randomBytes(32).toString('base64url')}.${extension}`;
    const message = `expected an extension of at most eight lower-case letters and digits, received ${JSON.stringify(extension)}`;
    throw new Failure('invalid_request', message);
  }

  isId(text: string): boolean {
    return ID.test(text);
  }

  /**
   * Reserves space for files that are to be written. Space of other reservations counts as used.
   *
   * @returns a function that ends the reservation
   * @throws Failure `storage_unavailable` if there is not enough space
   */
  async reserve({ bytes, files }: DiskSpace): Promise<() => void> {
    const disk = await onDisk(() => this.#files.statfs(this.#folder));
    const spare = Math.min(SPARE_BYTES, disk.blocks * disk.bsize * SPARE_SHARE);
    const freeBytes = disk.bavail * disk.bsize - spare - this.#reserved.bytes;
    const freeFiles = disk.ffree - this.#reserved.files;
    // Some file systems report no number of blocks (FUSE) or of files (Btrfs).
    if ((disk.blocks > 0 && freeBytes < bytes) || (disk.files > 0 && freeFiles < files)) {
      throw unavailable('the disk is full');
    }
    this.#reserved.bytes += bytes;
    this.#reserved.files += files;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#reserved.bytes -= bytes;
      this.#reserved.files -= files;
    };
  }

  /** @throws Failure `storage_unavailable` if there is not enough free space now */
  async checkFreeSpace(room: DiskSpace): Promise<void> {
    const end = await this.reserve(room);
    end();
  }

  /**
   * Writes a file. `source` is read to its end or closed in every case, also when the disk fails.
   *
   * @param maxBytes maximum size in bytes
   * @throws Failure invalid_request, 413 `file_too_large`, above `maxBytes`; errors of `source` unchanged
   */
  async write(
    id: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    maxBytes: number,
  ): Promise<Written> {
    const path = this.pathOf(id);
    const hash = createHash('sha256');
    let handle: FileHandle | undefined;
    let bytes = 0;
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        // Inside the loop, because opening may fail and only the loop closes the source.
        handle ??= await this.#create(id);
        await onDisk(() => handle!.writeFile(chunk));
        hash.update(chunk);
      }
      handle ??= await this.#create(id);
      await onDisk(() => handle!.sync());
    } catch (error) {
      await handle?.close().catch(() => {});
      await this.#discard(path + UNFINISHED);
      throw error;
    }
    await this.#finish(handle, path);
    return { bytes, sha256: hash.digest('hex') };
  }

  /** Writes a copy of another file. See `write`. */
  async copy(id: string, path: string, maxBytes: number): Promise<Written> {
    const open = () => onDisk(() => this.#files.open(path, 'r'));
    return this.write(id, chunksOf(open), maxBytes);
  }

  pathOf(id: string): string {
    if (!this.isId(id)) throw notFound('asset', id);
    return join(this.#folder, subfolderOf(id), id);
  }

  /** Checks that a file exists and has the size that was written. */
  async check({ id, bytes }: StoredFile): Promise<void> {
    const { size } = await this.#found(id, () => this.#files.stat(this.pathOf(id)));
    if (size !== bytes) throw this.#damaged(id);
  }

  /** Opens a file for reading. The caller closes it. */
  async open(id: string): Promise<FileHandle> {
    return this.#found(id, () => this.#files.open(this.pathOf(id), 'r'));
  }

  /** Reads a whole file. */
  async read(asset: StoredFile): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks(asset)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /**
   * Reads a file in chunks. On the first read the checksum is verified before the last chunk, so that a
   * reader of a damaged file gets a failure in its place. Later reads are not hashed until the file
   * changes, so that repeated downloads of a large file do not slow other requests.
   */
  async *chunks({ id, bytes, sha256 }: StoredFile): AsyncGenerator<Buffer, void> {
    const changedAt = await this.#changedAt(id);
    const hash = this.#verified.get(id) === changedAt ? null : createHash('sha256');
    let read = 0;
    let last: Buffer | undefined;
    for await (const chunk of chunksOf(() => this.open(id))) {
      if (last) yield last;
      hash?.update(chunk);
      read += chunk.length;
      last = chunk;
    }
    if (read !== bytes || (hash && !matches(hash, sha256))) throw this.#damaged(id);
    if (this.#verified.size >= MAX_VERIFIED) this.#verified.clear();
    this.#verified.set(id, changedAt);
    if (last) yield last;
  }

  /** Verifies the checksum of a file, once until the file changes. */
  async verify(asset: StoredFile): Promise<void> {
    if (this.#verified.get(asset.id) === (await this.#changedAt(asset.id))) return;
    const running = this.#verifying.get(asset.id) ?? this.#readThrough(asset);
    this.#verifying.set(asset.id, running);
    await running.finally(() => this.#verifying.delete(asset.id));
  }

  async #readThrough(asset: StoredFile): Promise<void> {
    for await (const _ of this.chunks(asset));
  }

  async #changedAt(id: string): Promise<number> {
    const { ctimeMs } = await this.#found(id, () => this.#files.stat(this.pathOf(id)));
    return ctimeMs;
  }

  async #found<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    return onDisk(async () => {
      try {
        return await work();
      } catch (error) {
        throw isMissing(error) ? notFound('asset', id) : error;
      }
    });
  }

  #damaged(id: string): Failure {
    this.#onDamage(id);
    return new Failure('service_error', 'the file is damaged on the disk of this server', {
      code: 'asset_damaged',
    });
  }

  /** Removes files. A file that does not exist is skipped. */
  async remove(ids: Iterable<string>): Promise<void> {
    const paths = [...ids].map((id) => this.pathOf(id));
    await onDisk(async () => {
      for (const path of paths) await remove(this.#files, path);
    });
  }

  /** Removes files that are not needed, and ignores errors: the sweep at the next start removes the rest. */
  async discard(ids: Iterable<string>): Promise<void> {
    for (const id of ids) await this.#discard(this.pathOf(id));
  }

  /**
   * Cleans up after earlier processes: removes unfinished files and moves files without a record to the
   * quarantine. Files that are older or newer than the records may belong to records that this store lost
   * or never had, and stay in place. So do files that this process has written. Runs once.
   *
   * @param span time range of the records before this process added any; null if there were none
   */
  async sweep(
    isKnown: (id: string) => Promise<boolean>,
    span: TimeRange | null,
  ): Promise<SweepResult> {
    const swept = { removed: 0, quarantined: 0, foreign: 0 };
    if (this.#started === null) return swept;
    for (const subfolder of await onDisk(() => namesIn(this.#files, this.#folder))) {
      if (!SUBFOLDER.test(subfolder)) continue;
      const folder = join(this.#folder, subfolder);
      for (const name of await onDisk(() => namesIn(this.#files, folder))) {
        const isWhole = !name.endsWith(UNFINISHED);
        const id = isWhole ? name : name.slice(0, -UNFINISHED.length);
        // Other names are not files of this class.
        if (!this.isId(id) || subfolderOf(id) !== subfolder || this.#started?.has(id)) continue;
        const path = join(folder, name);
        if (!isWhole) {
          await onDisk(() => remove(this.#files, path));
          swept.removed += 1;
        } else if (!(await isKnown(id))) {
          swept[(await this.#quarantine(path, id, span)) ? 'quarantined' : 'foreign'] += 1;
        }
      }
    }
    this.#started = null;
    return swept;
  }

  /** Moves a file to the quarantine. Returns false if the file is outside the time range. */
  async #quarantine(path: string, id: string, span: TimeRange | null): Promise<boolean> {
    return onDisk(async () => {
      const { mtimeMs } = await this.#files.stat(path);
      if (span === null || mtimeMs < span.from || mtimeMs > span.to) return false;
      const folder = join(this.#folder, QUARANTINE, dayOf(Date.now()));
      await makeFolder(this.#files, folder);
      await this.#files.rename(path, join(folder, id));
      return true;
    });
  }

  /** Removes files that were in the quarantine for longer than it keeps them. @param now milliseconds since the epoch */
  async emptyQuarantine(now: number): Promise<void> {
    const quarantine = join(this.#folder, QUARANTINE);
    const last = dayOf(now - QUARANTINE_DAYS * DAY_MS);
    await onDisk(async () => {
      for (const day of await namesIn(this.#files, quarantine)) {
        if (!DAY_FOLDER.test(day) || day >= last) continue;
        const folder = join(quarantine, day);
        for (const name of await namesIn(this.#files, folder)) {
          await remove(this.#files, join(folder, name));
        }
        await this.#files.rmdir(folder);
      }
    });
  }

  /** Creates a file under its temporary name. */
  #create(id: string): Promise<FileHandle> {
    this.#started?.add(id);
    return onDisk(async () => {
      await this.#makeSubfolder(subfolderOf(id));
      return this.#files.open(this.pathOf(id) + UNFINISHED, 'wx', 0o600);
    });
  }

  /** Renames a synced file to its final name. */
  async #finish(handle: FileHandle, path: string): Promise<void> {
    let name = path + UNFINISHED;
    try {
      await onDisk(async () => {
        await handle.close();
        await this.#files.rename(name, path);
        name = path;
        await syncFolder(this.#files, dirname(path));
      });
    } catch (error) {
      await this.#discard(name);
      throw error;
    }
  }

  async #discard(path: string): Promise<void> {
    await remove(this.#files, path).catch(() => {});
  }

  #makeSubfolder(name: string): Promise<void> {
    const made = this.#subfolders.get(name) ?? makeFolder(this.#files, join(this.#folder, name));
    this.#subfolders.set(name, made);
    made.catch(() => this.#subfolders.delete(name));
    return made;
  }
}

function subfolderOf(id: string): string {
  return id.slice(0, 2);
}

/** Content of a file in chunks. The file is opened when the first chunk is requested. */
async function* chunksOf(open: () => Promise<FileHandle>): AsyncGenerator<Buffer, void> {
  const handle = await open();
  try {
    for (;;) {
      // A new buffer each time: a reader may still use the previous one.
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const { bytesRead } = await onDisk(() => handle.read(chunk, 0, CHUNK_BYTES));
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** @param sha256 null or undefined in records of versions that stored no checksum */
function matches(hash: Hash, sha256: string | null | undefined): boolean {
  return (sha256 ?? null) === null || hash.digest('hex') === sha256;
}

function tooLarge(maxBytes: number): Failure {
  return new Failure('invalid_request', `expected a file of at most ${maxBytes} bytes`, {
    code: 'file_too_large',
  });
}

/** Runs a disk operation and converts its errors: their own messages contain paths. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw unavailable(code ?? 'the disk failed', error);
  }
}

/** The disk is full or fails, or too many files are open: an error of this server that may pass. */
function unavailable(reason: string, cause?: unknown): Failure {
  return new Failure('service_error', `cannot store files: ${reason}`, {
    code: 'storage_unavailable',
    retryAfter: RETRY_AFTER_SECONDS,
    cause,
  });
}
