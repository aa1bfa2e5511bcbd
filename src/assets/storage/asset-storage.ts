import type { FileHandle } from 'node:fs/promises';
import { rethrowAfter } from '../../flow.ts';
import type { Asset } from '../../store/asset.ts';
import { type Files, remove } from '../../store/files.ts';
import type { TimeRange } from '../../store/health.ts';
import { type DiskSpace, DiskSpaceReservations } from './disk-space.ts';
import type { ByteRange } from './local-chunks.ts';
import {
  type FileSource,
  isAsWritten,
  type SpooledFile,
  type Written,
  writeLocalFile,
} from './spooled-file.ts';
import { type StoredFile, Verification } from './verification.ts';

export interface ReadOptions {
  /** Null for the whole file, as by default. */
  readonly range?: ByteRange | null;
  /** Ends a read that waits for the storage. */
  readonly signal?: AbortSignal;
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

export const NOTHING_SWEPT: SweepResult = { removed: 0, quarantined: 0, foreign: 0 };

/** The place of one file on the local disk until it is stored or discarded. */
interface SpoolPlace {
  readonly path: string;
  /** Whether the content is synced to disk. */
  readonly isDurable: boolean;
  readonly create: () => Promise<FileHandle>;
  readonly store: (written: Written, signal?: AbortSignal) => Promise<void>;
  /** Removes the file, also after `store`, and ignores errors. */
  readonly discard: () => Promise<void>;
}

export interface AssetLink {
  readonly url: string;
  /** Seconds for which the URL works. */
  readonly seconds: number;
}

/**
 * Files of assets. A file appears under its identifier once all of it is stored durably, and never
 * changes. The store's records say which files are in use. Every driver writes files to the local disk before it stores
 * them.
 *
 * Failures: `invalid_request` with status 404 and code `asset_not_found` for an invalid identifier or a
 * missing file; `service_error` with status 503 and code `storage_unavailable` if a disk is full or
 * fails or the bucket does not answer, and with status 500 and code `asset_damaged` if a file differs
 * from what was written.
 */
export abstract class AssetStorage {
  protected readonly verification: Verification;
  protected readonly files: Files;
  readonly #space: DiskSpaceReservations;

  constructor(folder: string, files: Files, onDamage: (id: string) => void) {
    this.files = files;
    this.#space = new DiskSpaceReservations(folder, files);
    this.verification = new Verification(onDamage);
  }

  /**
   * Reserves local disk space for files that are to be written. Space of other reservations counts as used.
   *
   * @returns a function that ends the reservation
   * @throws Failure `storage_unavailable` also if the storage is known not to answer
   */
  reserve(space: DiskSpace): Promise<() => void> {
    return this.#space.reserve(space);
  }

  /** @throws Failure `storage_unavailable` if there is not enough free space on the local disk now */
  async checkFreeSpace(space: DiskSpace): Promise<void> {
    const end = await this.#space.reserve(space);
    end();
  }

  /**
   * Writes a file to the local disk, from where the caller stores or discards it. `source` is read to its
   * end or closed in every case, also when the disk fails.
   *
   * @param maxBytes maximum size in bytes
   * @throws Failure invalid_request, 413 `file_too_large`, above `maxBytes`; errors of `source` unchanged
   */
  async spool(id: string, source: FileSource, maxBytes: number): Promise<SpooledFile> {
    const { path, isDurable, create, store, discard } = this.spoolPlace(id);
    try {
      const written = await writeLocalFile(source, { create, maxBytes, isDurable });
      let isStored = false;
      return {
        ...written,
        id,
        path,
        isIntact: () => isAsWritten(this.files, path, written),
        store: async (signal) => {
          if (!isStored) await store(written, signal);
          isStored = true;
        },
        discard,
      };
    } catch (error) {
      await discard();
      throw error;
    }
  }

  protected abstract spoolPlace(id: string): SpoolPlace;

  /** Stores a copy of a local file. See `spool`. */
  abstract copy(id: string, path: string, maxBytes: number): Promise<Written>;

  /** Checks that a file exists and has the size that was written. */
  abstract check(asset: StoredFile): Promise<void>;

  /**
   * Reads a file or a range of it in chunks. The checksum of a whole file is verified before its last
   * chunk, so that a reader of a damaged file gets a failure in its place.
   */
  abstract chunks(asset: StoredFile, options?: ReadOptions): AsyncGenerator<Buffer, void>;

  /**
   * A URL from which clients may read a file for some time without this server; null if they read it
   * from this server.
   */
  abstract link(asset: Pick<Asset, 'id' | 'mediaType'>): AssetLink | null;

  /** Removes files. A file that does not exist is skipped. */
  abstract remove(ids: Iterable<string>): Promise<void>;

  /**
   * Moves files without a record to the quarantine. Files that are older or newer than the records may
   * belong to records that this store lost or never had, and stay in place. Called at the start and then
   * at intervals; a driver does nothing where no sweep is due.
   *
   * @param span time range of the records before this process added any; null if there were none
   * @param mayGoOn asked from time to time during a long sweep; false ends it
   */
  abstract sweep(
    isKnown: (id: string) => Promise<boolean>,
    span: TimeRange | null,
    mayGoOn?: () => boolean,
  ): Promise<SweepResult>;

  /** Removes files that were in the quarantine for longer than it keeps them. @param now milliseconds since the epoch */
  abstract emptyQuarantine(now: number): Promise<void>;

  /** Why the storage cannot be used now, for the operator; null if it can. */
  abstract health(): Promise<string | null>;

  /** Writes and stores a file. See `spool`. */
  async write(id: string, source: FileSource, maxBytes: number): Promise<Written> {
    const file = await this.spool(id, source, maxBytes);
    await file.store().catch(rethrowAfter(() => file.discard()));
    return { bytes: file.bytes, sha256: file.sha256 };
  }

  /** Reads a whole file. */
  async read(asset: StoredFile, options?: Pick<ReadOptions, 'signal'>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks(asset, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Removes files that are not needed, and ignores errors: a later sweep removes the rest. */
  async discard(ids: Iterable<string>): Promise<void> {
    await this.remove(ids).catch(() => {});
  }

  protected async removeQuietly(path: string): Promise<void> {
    await remove(this.files, path).catch(() => {});
  }
}
