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

/** 256 random bits, and what kind of file it is. */
const ID = /^[\w-]{43}\.[a-z0-9]{1,8}$/;
const EXTENSION = /^[a-z0-9]{1,8}$/;
/** One of 4096, so that none of them gets too full to be listed. */
const SUBFOLDER = /^[\w-]{2}$/;
/** What a file is called until it is whole. */
const UNFINISHED = '.new';

/** What is read of a file at once, in bytes. */
const CHUNK = 256 * 1024;

/** Subfolder of files that no record names, each in a folder of the day on which it was moved there. */
const QUARANTINE = 'quarantine';
const DAY_FOLDER = /^\d{4}-\d{2}-\d{2}$/;
const DAY = 86_400_000;
/** Days for which the quarantine keeps a file. The README tells it. */
const QUARANTINE_DAYS = 30;

/** Bytes that stay free for the store's journal: at most, and as a share of the disk. */
const SPARE_BYTES = 64 * 2 ** 20;
const SPARE_SHARE = 1 / 16;

/** Seconds after which a client may try again where files cannot be kept. */
const RETRY_AFTER = 30;

/** Files that are remembered to have matched their checksum. */
const MOST_VERIFIED = 100_000;

/** What a file has that was written. */
type Written = Pick<Asset, 'bytes'> & { readonly sha256: string };

/** What a record tells of a file. */
type StoredFile = Pick<Asset, 'id' | 'bytes' | 'sha256'>;

/** What is needed on disk to keep something. */
export interface DiskSpace {
  readonly bytes: number;
  readonly files: number;
}

/** What a sweep did with files that no record names. */
export interface SweepResult {
  /** Unfinished files. */
  readonly removed: number;
  /** Files that were moved to the quarantine. */
  readonly quarantined: number;
  /** Files from outside the time that the records span: left where they are. */
  readonly foreign: number;
}

interface AssetFilesOptions {
  readonly files?: Files;
  /** A file differs from what was written. */
  readonly onDamage?: (id: string) => void;
}

/**
 * The files of assets, in a folder that no other process uses. A file is whole and on disk, or it is
 * not there; it never changes. Which of them count, the store knows.
 *
 * Failures: `invalid_request` with status 404 and code `asset_not_found` for a name that no file can
 * have, or none has; `service_error` with status 503 and code `storage_unavailable` where the disk
 * is full or fails, and with status 500 and code `asset_damaged` where a file is not what was written.
 */
export class AssetFiles {
  readonly #folder: string;
  readonly #files: Files;
  /** Subfolders that outlast a power cut, or will. */
  readonly #subfolders = new Map<string, Promise<void>>();
  /** What was begun here: until it is swept, it must be told from what others left. Then null. */
  #begun: Set<string> | null = new Set();
  /** Files whose checksum was checked, by identifier, with the time of their last change then. */
  readonly #verified = new Map<string, number>();
  readonly #verifying = new Map<string, Promise<void>>();
  /** Room that is reserved and may not be used up yet. */
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
      // Subfolders that a process made before it was killed may not be on disk by their names yet.
      await syncFolder(files, folder);
      return new AssetFiles(folder, files, onDamage);
    });
  }

  /** A name that nobody guesses. @param extension `png`: what is served by that name follows from it */
  newId(extension: string): string {
    if (EXTENSION.test(extension)) return `${randomBytes(32).toString('base64url')}.${extension}`;
    const message = `expected an extension of at most eight small letters and digits, received ${JSON.stringify(extension)}`;
    throw new Failure('invalid_request', message);
  }

  isId(text: string): boolean {
    return ID.test(text);
  }

  /**
   * Reserves room for files that are to be written. What is reserved by others counts as used.
   *
   * @returns ends the reservation
   * @throws Failure `storage_unavailable` where there is not enough
   */
  async reserve({ bytes, files }: DiskSpace): Promise<() => void> {
    const disk = await onDisk(() => this.#files.statfs(this.#folder));
    const spare = Math.min(SPARE_BYTES, disk.blocks * disk.bsize * SPARE_SHARE);
    const freeBytes = disk.bavail * disk.bsize - spare - this.#reserved.bytes;
    const freeFiles = disk.ffree - this.#reserved.files;
    // Some file systems tell no number of blocks (FUSE) or of files (Btrfs).
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

  /** @throws Failure `storage_unavailable` where there is not enough room at present */
  async checkFreeSpace(room: DiskSpace): Promise<void> {
    const end = await this.reserve(room);
    end();
  }

  /**
   * Writes a file. Whatever the disk does, `source` has been read to its end or closed.
   *
   * @param most bytes
   * @throws Failure invalid_request, 413 `file_too_large`, beyond `most`; what `source` throws, as it is
   */
  async write(
    id: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    most: number,
  ): Promise<Written> {
    const path = this.pathOf(id);
    const hash = createHash('sha256');
    let handle: FileHandle | undefined;
    let bytes = 0;
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        bytes += chunk.length;
        if (bytes > most) throw tooLarge(most);
        // Not before the loop, which alone closes the source: this may fail.
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

  /** Writes what is in another file, which stays. See `write`. */
  async copy(id: string, path: string, most: number): Promise<Written> {
    const open = () => onDisk(() => this.#files.open(path, 'r'));
    return this.write(id, chunksOf(open), most);
  }

  pathOf(id: string): string {
    if (!this.isId(id)) throw notFound('asset', id);
    return join(this.#folder, subfolderOf(id), id);
  }

  /** Looks whether a file is there, and as long as it was written. */
  async check({ id, bytes }: StoredFile): Promise<void> {
    const { size } = await this.#found(id, () => this.#files.stat(this.pathOf(id)));
    if (size !== bytes) throw this.#damaged(id);
  }

  /** Opens a file for reading. The caller closes it. */
  async open(id: string): Promise<FileHandle> {
    return this.#found(id, () => this.#files.open(this.pathOf(id), 'r'));
  }

  /** The whole content of a file. */
  async read(asset: StoredFile): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks(asset)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /**
   * The content of a file, piece by piece. The first time, the last piece comes only where the whole is
   * what was written: a reader of a damaged file gets a failure instead of it. Until the file changes, later
   * readers cost no hashing, so that whoever downloads a large file over and over does not slow the others.
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
    if (this.#verified.size >= MOST_VERIFIED) this.#verified.clear();
    this.#verified.set(id, changedAt);
    if (last) yield last;
  }

  /** Makes sure, once for each file until it changes, that it is what was written. */
  async verify(asset: StoredFile): Promise<void> {
    if (this.#verified.get(asset.id) === (await this.#changedAt(asset.id))) return;
    const underWay = this.#verifying.get(asset.id) ?? this.#readThrough(asset);
    this.#verifying.set(asset.id, underWay);
    await underWay.finally(() => this.#verifying.delete(asset.id));
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

  /** Removes files; that one is gone already is as well. */
  async remove(ids: Iterable<string>): Promise<void> {
    const paths = [...ids].map((id) => this.pathOf(id));
    await onDisk(async () => {
      for (const path of paths) await remove(this.#files, path);
    });
  }

  /** Removes files that nothing came of. What the disk does not let go of is swept at the next start. */
  async discard(ids: Iterable<string>): Promise<void> {
    for (const id of ids) await this.#discard(this.pathOf(id));
  }

  /**
   * Tidies up what earlier processes left: removes unfinished files, and moves those that no record
   * names to the quarantine. Older or newer files than the records span may belong to records that this
   * store lost or never had, and stay where they are; so does what was written since this was opened.
   * Once that is done there is nothing more to do for it.
   *
   * @param span as it was before anything was recorded by this process; null where there are no records
   */
  async sweep(
    isKnown: (id: string) => Promise<boolean>,
    span: TimeRange | null,
  ): Promise<SweepResult> {
    const swept = { removed: 0, quarantined: 0, foreign: 0 };
    if (this.#begun === null) return swept;
    for (const subfolder of await onDisk(() => namesIn(this.#files, this.#folder))) {
      if (!SUBFOLDER.test(subfolder)) continue;
      const folder = join(this.#folder, subfolder);
      for (const name of await onDisk(() => namesIn(this.#files, folder))) {
        const isWhole = !name.endsWith(UNFINISHED);
        const id = isWhole ? name : name.slice(0, -UNFINISHED.length);
        // Strangers in the folder are left alone.
        if (!this.isId(id) || subfolderOf(id) !== subfolder || this.#begun?.has(id)) continue;
        const path = join(folder, name);
        if (!isWhole) {
          await onDisk(() => remove(this.#files, path));
          swept.removed += 1;
        } else if (!(await isKnown(id))) {
          swept[(await this.#quarantine(path, id, span)) ? 'quarantined' : 'foreign'] += 1;
        }
      }
    }
    this.#begun = null;
    return swept;
  }

  /** Moves a file to the quarantine. False where it is not from the time that the records span. */
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

  /** Removes what has been in the quarantine for long enough. @param now milliseconds since 1970 */
  async emptyQuarantine(now: number): Promise<void> {
    const quarantine = join(this.#folder, QUARANTINE);
    const last = dayOf(now - QUARANTINE_DAYS * DAY);
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

  /** Begins a file under a name that is not yet its own. */
  #create(id: string): Promise<FileHandle> {
    this.#begun?.add(id);
    return onDisk(async () => {
      await this.#makeSubfolder(subfolderOf(id));
      return this.#files.open(this.pathOf(id) + UNFINISHED, 'wx', 0o600);
    });
  }

  /** Gives a file that is on disk its name. */
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

/** The content of a file, which is opened when the first piece is asked for. */
async function* chunksOf(open: () => Promise<FileHandle>): AsyncGenerator<Buffer, void> {
  const handle = await open();
  try {
    for (;;) {
      // A new one each time: a reader may still have the one before.
      const chunk = Buffer.allocUnsafe(CHUNK);
      const { bytesRead } = await onDisk(() => handle.read(chunk, 0, CHUNK));
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

/** @param sha256 null or undefined in records from before it was kept */
function matches(hash: Hash, sha256: string | null | undefined): boolean {
  return (sha256 ?? null) === null || hash.digest('hex') === sha256;
}

function tooLarge(most: number): Failure {
  return new Failure('invalid_request', `expected a file of at most ${most} bytes`, {
    code: 'file_too_large',
  });
}

/** What the disk does, with its faults told as ours: its own messages name folders. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw unavailable(code ?? 'the disk failed', error);
  }
}

/** A full disk, one that fails, or too many open files: our own fault, which may pass. */
function unavailable(reason: string, cause?: unknown): Failure {
  return new Failure('service_error', `files cannot be kept: ${reason}`, {
    code: 'storage_unavailable',
    retryAfter: RETRY_AFTER,
    cause,
  });
}
