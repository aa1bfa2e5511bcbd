import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../failure.ts';
import {
  diskFiles,
  type Files,
  isMissing,
  makeFolder,
  namesIn,
  remove,
  syncFolder,
} from './files.ts';
import { missing } from './refusal.ts';

/** 256 random bits, and what kind of file it is. */
const ID = /^[\w-]{43}\.[a-z0-9]{1,8}$/;
const EXTENSION = /^[a-z0-9]{1,8}$/;
/** One of 4096, so that none of them gets too full to be listed. */
const SUBFOLDER = /^[\w-]{2}$/;
/** What a file is called until it is whole. */
const UNFINISHED = '.new';

/** What is read of a file at once, in bytes. */
const CHUNK = 2 ** 20;

/**
 * The files of assets, in a folder that no other process uses. A file is whole and on disk, or it is
 * not there; it never changes. Which of them count, the store knows.
 *
 * Failures: `invalid_request` with status 404 and code `asset_not_found` for a name that no file can
 * have, or none has; `service_error` with status 503 and code `storage_unavailable` where the disk
 * does not do as it is told.
 */
export class AssetFiles {
  readonly #folder: string;
  readonly #files: Files;
  /** Subfolders that outlast a power cut, or will. */
  readonly #subfolders = new Map<string, Promise<void>>();
  /** What was begun here: until it is swept, it must be told from what others left. Then null. */
  #begun: Set<string> | null = new Set();

  private constructor(folder: string, files: Files) {
    this.#folder = folder;
    this.#files = files;
  }

  static async open(folder: string, files: Files = diskFiles): Promise<AssetFiles> {
    return onDisk(async () => {
      await makeFolder(files, folder);
      // Subfolders that a process made before it was killed may not be on disk by their names yet.
      await syncFolder(files, folder);
      return new AssetFiles(folder, files);
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
   * Writes a file. Whatever the disk does, `source` has been read to its end or closed.
   *
   * @param most bytes
   * @returns how many it has
   * @throws Failure invalid_request, 413 `file_too_large`, beyond `most`; what `source` throws, as it is
   */
  async write(
    id: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    most: number,
  ): Promise<number> {
    const path = this.pathOf(id);
    let handle: FileHandle | undefined;
    let bytes = 0;
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        bytes += chunk.length;
        if (bytes > most) throw tooLarge(most);
        // Not before the loop, which alone closes the source: this may fail.
        handle ??= await this.#create(id);
        await onDisk(() => handle!.writeFile(chunk));
      }
      handle ??= await this.#create(id);
      await onDisk(() => handle!.sync());
    } catch (error) {
      await handle?.close().catch(() => {});
      await this.#discard(path + UNFINISHED);
      throw error;
    }
    await this.#finish(handle, path);
    return bytes;
  }

  /** Writes what is in another file, which stays. See `write`. */
  async copy(id: string, path: string, most: number): Promise<number> {
    return this.write(id, this.#chunksOf(path), most);
  }

  pathOf(id: string): string {
    if (!this.isId(id)) throw missing('asset', id);
    return join(this.#folder, subfolderOf(id), id);
  }

  async read(id: string): Promise<Buffer> {
    const path = this.pathOf(id);
    return onDisk(async () => {
      try {
        return await this.#files.readFile(path);
      } catch (error) {
        throw isMissing(error) ? missing('asset', id) : error;
      }
    });
  }

  /** Removes files; that one is gone already is as well. */
  async remove(ids: Iterable<string>): Promise<void> {
    const paths = [...ids].map((id) => this.pathOf(id));
    await onDisk(async () => {
      for (const path of paths) await remove(this.#files, path);
    });
  }

  /**
   * Removes what earlier processes left: files that nobody knows, and those that are not whole. What
   * was written since this was opened stays, known or not. Once that is done there is nothing more
   * to do for it.
   *
   * @returns how many files it removed
   */
  async sweep(isKnown: (id: string) => Promise<boolean>): Promise<number> {
    if (this.#begun === null) return 0;
    let removed = 0;
    for (const subfolder of await onDisk(() => namesIn(this.#files, this.#folder))) {
      if (!SUBFOLDER.test(subfolder)) continue;
      const folder = join(this.#folder, subfolder);
      for (const name of await onDisk(() => namesIn(this.#files, folder))) {
        if (!(await this.#isLeftover(subfolder, name, isKnown))) continue;
        await onDisk(() => remove(this.#files, join(folder, name)));
        removed += 1;
      }
    }
    this.#begun = null;
    return removed;
  }

  async #isLeftover(
    subfolder: string,
    name: string,
    isKnown: (id: string) => Promise<boolean>,
  ): Promise<boolean> {
    const isWhole = !name.endsWith(UNFINISHED);
    const id = isWhole ? name : name.slice(0, -UNFINISHED.length);
    // Strangers in the folder are left alone.
    if (!this.isId(id) || subfolderOf(id) !== subfolder) return false;
    if (this.#begun?.has(id)) return false;
    return !(isWhole && (await isKnown(id)));
  }

  async *#chunksOf(path: string): AsyncGenerator<Uint8Array> {
    const handle = await onDisk(() => this.#files.open(path, 'r'));
    try {
      const chunk = Buffer.allocUnsafe(CHUNK);
      for (;;) {
        const { bytesRead } = await onDisk(() => handle.read(chunk, 0, CHUNK));
        if (bytesRead === 0) return;
        yield chunk.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
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

  /** What the disk does not let go of is swept at the next start. */
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

function tooLarge(most: number): Failure {
  return new Failure('invalid_request', `expected a file of at most ${most} bytes`, {
    status: 413,
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
    throw new Failure('service_error', `files cannot be kept: ${code ?? 'the disk failed'}`, {
      status: 503,
      code: 'storage_unavailable',
      cause: error,
    });
  }
}
