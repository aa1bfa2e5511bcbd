import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { notFound } from '../../store/errors.ts';
import {
  diskFiles,
  type Files,
  isMissing,
  makeFolder,
  remove,
  syncFolder,
} from '../../store/files.ts';
import type { TimeRange } from '../../store/health.ts';
import {
  AssetStorage,
  NOTHING_SWEPT,
  type ReadOptions,
  type SweepResult,
} from '../storage/asset-storage.ts';
import { onDisk } from '../storage/errors.ts';
import { isAssetId, subfolderOf } from '../storage/identifier.ts';
import { chunksOf } from '../storage/local-chunks.ts';
import type { Written } from '../storage/spooled-file.ts';
import type { StoredFile } from '../storage/verification.ts';
import { emptyQuarantine, sweepFolder, UNFINISHED } from './orphans.ts';

interface DiskStorageOptions {
  readonly files?: Files;
  /** Whether `sweep` does anything; true by default. */
  readonly isSweeper?: boolean;
  /** Called when a file differs from what was written. */
  readonly onDamage?: (id: string) => void;
}

/** Files of assets in a folder, which several processes may use if one of them alone sweeps it. */
export class DiskStorage extends AssetStorage {
  readonly #folder: string;
  /** Subfolders that exist or are being created, and are synced to disk. */
  readonly #subfolders = new Map<string, Promise<void>>();
  /** Files that this process started to write: a sweep skips them. Null after the sweep. */
  #started: Set<string> | null = new Set();
  readonly #openedAt = Date.now();
  readonly #verifying = new Map<string, Promise<void>>();

  private constructor(folder: string, files: Files, onDamage: (id: string) => void) {
    super(folder, files, onDamage);
    this.#folder = folder;
  }

  static async open(
    folder: string,
    { files = diskFiles, isSweeper = true, onDamage = () => {} }: DiskStorageOptions = {},
  ): Promise<DiskStorage> {
    return onDisk(async () => {
      await makeFolder(files, folder);
      // A process that was killed may have created subfolders without syncing their names.
      await syncFolder(files, folder);
      const storage = new DiskStorage(folder, files, onDamage);
      if (!isSweeper) storage.#started = null;
      return storage;
    });
  }

  protected spoolPlace(id: string) {
    const final = this.pathOf(id);
    const path = final + UNFINISHED;
    let isRenamed = false;
    return {
      path,
      isDurable: true,
      create: () => this.#create(id),
      store: () =>
        onDisk(async () => {
          if (!isRenamed) await this.files.rename(path, final);
          isRenamed = true;
          await syncFolder(this.files, dirname(final));
        }),
      discard: () => this.removeQuietly(isRenamed ? final : path),
    };
  }

  async copy(id: string, path: string, maxBytes: number): Promise<Written> {
    const open = () => onDisk(() => this.files.open(path, 'r'));
    return this.write(id, chunksOf(open), maxBytes);
  }

  pathOf(id: string): string {
    if (!isAssetId(id)) throw notFound('asset', id);
    return join(this.#folder, subfolderOf(id), id);
  }

  async check(asset: StoredFile): Promise<void> {
    await this.#versionOf(asset);
  }

  async *chunks(asset: StoredFile, { range }: ReadOptions = {}): AsyncGenerator<Buffer, void> {
    const open = () => this.#found(asset.id, () => this.files.open(this.pathOf(asset.id), 'r'));
    if (range) {
      // The whole file is verified before the first part of it is read.
      await this.#verify(asset);
      yield* chunksOf(open, range);
    } else {
      const version = await this.#versionOf(asset);
      yield* this.verification.verified(asset, version, chunksOf(open));
    }
  }

  /** Verifies the checksum of a file, once until the file changes. */
  async #verify(asset: StoredFile): Promise<void> {
    if (this.verification.isVerified(asset.id, await this.#versionOf(asset))) return;
    const running = this.#verifying.get(asset.id) ?? this.#readThrough(asset);
    this.#verifying.set(asset.id, running);
    await running.finally(() => this.#verifying.delete(asset.id));
  }

  async #readThrough(asset: StoredFile): Promise<void> {
    for await (const _ of this.chunks(asset));
  }

  /** The time of a file's last change. @throws Failure `asset_damaged` if it has another size */
  async #versionOf({ id, bytes }: StoredFile): Promise<number> {
    const { size, ctimeMs } = await this.#found(id, () => this.files.stat(this.pathOf(id)));
    if (size !== bytes) throw this.verification.damaged(id);
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

  link(): null {
    return null;
  }

  async remove(ids: Iterable<string>): Promise<void> {
    const removed = [...ids];
    this.verification.forget(removed);
    const paths = removed.map((id) => this.pathOf(id));
    await onDisk(async () => {
      for (const path of paths) await remove(this.files, path);
    });
  }

  /** A file that cannot be removed does not keep the others. */
  override async discard(ids: Iterable<string>): Promise<void> {
    for (const id of ids) await this.removeQuietly(this.pathOf(id));
  }

  /** Also removes unfinished files of earlier processes. Skips files of this process, and runs once. */
  async sweep(
    isKnown: (id: string) => Promise<boolean>,
    span: TimeRange | null,
  ): Promise<SweepResult> {
    if (this.#started === null) return NOTHING_SWEPT;
    const isOwn = (id: string) => this.#started?.has(id) ?? true;
    const swept = await sweepFolder(this.files, this.#folder, {
      isOwn,
      isKnown,
      span,
      openedAt: this.#openedAt,
    });
    this.#started = null;
    return swept;
  }

  emptyQuarantine(now: number): Promise<void> {
    return emptyQuarantine(this.files, this.#folder, now);
  }

  /** The probe of the data folder reports a disk that fails. */
  async health(): Promise<null> {
    return null;
  }

  /** Creates a file under its temporary name. */
  #create(id: string): Promise<FileHandle> {
    this.#started?.add(id);
    return onDisk(async () => {
      await this.#makeSubfolder(subfolderOf(id));
      return this.files.open(this.pathOf(id) + UNFINISHED, 'wx', 0o600);
    });
  }

  #makeSubfolder(name: string): Promise<void> {
    const made = this.#subfolders.get(name) ?? makeFolder(this.files, join(this.#folder, name));
    this.#subfolders.set(name, made);
    made.catch(() => this.#subfolders.delete(name));
    return made;
  }
}
