import type { FileHandle } from 'node:fs/promises';
import { type Files, remove } from '../../store/files.ts';
import type { ReadOptions, StoredFile } from './asset-storage.ts';
import { type DiskSpace, DiskSpaceReservations } from './disk-space.ts';
import {
  type FileSource,
  isAsWritten,
  type SpooledFile,
  type Written,
  writeLocalFile,
} from './spooled-file.ts';
import { Verification } from './verification.ts';

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

/** What all drivers have in common: they write files to the local disk before they store them. */
export abstract class SpoolingStorage {
  protected readonly verification: Verification;
  protected readonly files: Files;
  readonly #space: DiskSpaceReservations;

  constructor(folder: string, files: Files, onDamage: (id: string) => void) {
    this.files = files;
    this.#space = new DiskSpaceReservations(folder, files);
    this.verification = new Verification(onDamage);
  }

  reserve(space: DiskSpace): Promise<() => void> {
    return this.#space.reserve(space);
  }

  async checkFreeSpace(space: DiskSpace): Promise<void> {
    const end = await this.#space.reserve(space);
    end();
  }

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

  async write(id: string, source: FileSource, maxBytes: number): Promise<Written> {
    const file = await this.spool(id, source, maxBytes);
    try {
      await file.store();
    } catch (error) {
      await file.discard();
      throw error;
    }
    return { bytes: file.bytes, sha256: file.sha256 };
  }

  async read(asset: StoredFile, options?: Pick<ReadOptions, 'signal'>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks(asset, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  abstract chunks(asset: StoredFile, options?: ReadOptions): AsyncGenerator<Buffer, void>;

  abstract remove(ids: Iterable<string>): Promise<void>;

  async discard(ids: Iterable<string>): Promise<void> {
    await this.remove(ids).catch(() => {});
  }

  protected async removeQuietly(path: string): Promise<void> {
    await remove(this.files, path).catch(() => {});
  }
}
