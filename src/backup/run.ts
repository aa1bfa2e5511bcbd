import { join, resolve, sep } from 'node:path';
import type { Config } from '../config/settings/schema.ts';
import { codedFailure } from '../failure.ts';
import { placeOf, type StoreSettings } from '../store/drivers/open.ts';
import { secretKeyFile } from '../store/secret-key.ts';
import type { Upstream } from '../upstream/response.ts';
import { type BackupReport, writeBackup } from './backup.ts';
import { BucketBackups, bucketPlace } from './bucket.ts';
import { backupsIn, openFolder } from './folder.ts';
import { newName, timeOf } from './manifest.ts';
import { storeIdIn } from './sources.ts';
import { openTar } from './tar.ts';

/** Parts of a configuration that a backup needs. */
export interface BackupSettings {
  readonly dataDir: string;
  readonly store: StoreSettings;
  /** The configured one; undefined for that in the data folder. */
  readonly secretKeyFile?: string | undefined;
  /** Path of the configuration; null without one. */
  readonly file: string | null;
  /** Loaded for s3:// only. */
  readonly assets: () => Config['assets'];
}

interface RunOptions {
  readonly signal?: AbortSignal;
  readonly program: string;
  readonly keep: number | undefined;
  readonly upstream: Upstream;
}

/**
 * Backs up a data folder to a folder, a file `.tar` or `s3://BUCKET/PREFIX`.
 *
 * @throws Failure of the target, `no_store`
 */
export async function runBackup(
  to: string,
  { dataDir, store, secretKeyFile: keyFile, file, assets }: BackupSettings,
  { upstream, ...options }: RunOptions,
): Promise<BackupReport> {
  const isEmbedded = store.driver === 'lowdb';
  const id = isEmbedded ? await storeIdIn(dataDir) : placeOf(store);
  const name = newName(await newestBackup(to, { assets }, upstream));
  const target = await openTarget(to, name, { dataDir, assets, upstream });
  try {
    return await writeBackup(target, {
      ...{ dataDir, isEmbedded, name, ...options },
      store: { driver: store.driver, id },
      others: [
        ...(file === null ? [] : [{ path: 'config/oriel.yaml', file }]),
        { path: 'secret.key', file: secretKeyFile(dataDir, keyFile) },
      ],
    });
  } finally {
    await target.close();
  }
}

/** Time of the newest backup in a place, in milliseconds since the epoch; 0 without one, and for a file. */
export async function newestBackup(
  to: string,
  { assets }: Pick<BackupSettings, 'assets'>,
  upstream: Upstream,
): Promise<number> {
  if (to.endsWith('.tar')) return 0;
  const place = bucketPlace(to);
  const names = place
    ? await new BucketBackups(place, assets(), upstream).names()
    : // Writing there says why it cannot be read.
      await backupsIn(resolve(to)).catch(() => []);
  return names.length > 0 ? timeOf(names.at(-1)!) : 0;
}

async function openTarget(
  to: string,
  name: string,
  {
    dataDir,
    assets,
    upstream,
  }: Pick<BackupSettings, 'dataDir' | 'assets'> & { upstream: Upstream },
) {
  const place = bucketPlace(to);
  if (place) return new BucketBackups(place, assets(), upstream).target(name);
  for (const part of ['store', 'assets', 'audit']) {
    const folder = join(resolve(dataDir), part);
    if (!`${resolve(to)}${sep}`.startsWith(folder + sep)) continue;
    throw codedFailure('usage', `${to}: expected a place outside of ${folder}`);
  }
  return to.endsWith('.tar') ? openTar(resolve(to), name) : openFolder(resolve(to), name);
}
