import type { Files } from '../../store/files.ts';
import { onDisk, storageUnavailable } from './errors.ts';

/** Space that stays free for the store's journal: at most these bytes, or this share of the disk. */
const SPARE_BYTES = 64 * 2 ** 20;
const SPARE_SHARE = 1 / 16;

/** Disk space that files need. */
export interface DiskSpace {
  readonly bytes: number;
  readonly files: number;
}

/** Free space of the disk of a folder, of which parts are reserved for files that are to be written. */
export class DiskSpaceReservations {
  readonly #folder: string;
  readonly #files: Pick<Files, 'statfs'>;
  /** Space that is reserved and may not be used up yet. */
  readonly #reserved = { bytes: 0, files: 0 };

  constructor(folder: string, files: Pick<Files, 'statfs'>) {
    this.#folder = folder;
    this.#files = files;
  }

  /** See `AssetStorage.reserve`. */
  async reserve({ bytes, files }: DiskSpace): Promise<() => void> {
    const disk = await onDisk(() => this.#files.statfs(this.#folder));
    const spare = Math.min(SPARE_BYTES, disk.blocks * disk.bsize * SPARE_SHARE);
    const freeBytes = disk.bavail * disk.bsize - spare - this.#reserved.bytes;
    const freeFiles = disk.ffree - this.#reserved.files;
    // Some file systems report no number of blocks (FUSE) or of files (Btrfs).
    if ((disk.blocks > 0 && freeBytes < bytes) || (disk.files > 0 && freeFiles < files)) {
      throw storageUnavailable('the disk is full');
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
}
