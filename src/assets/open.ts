import type { AssetStorage } from './asset-storage.ts';
import { DiskStorage } from './disk/disk-storage.ts';

interface AssetStorageOptions {
  /** Folder on the local disk; created if it does not exist. */
  readonly directory: string;
  /** Called with the identifier of a file that differs from what was written. */
  readonly onDamage: (id: string) => void;
}

/** Opens the storage of files. Chooses the driver: nothing else imports one. */
export function openAssetStorage({
  directory,
  ...options
}: AssetStorageOptions): Promise<AssetStorage> {
  return DiskStorage.open(directory, options);
}
