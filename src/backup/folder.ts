import { link, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codedFailure, Failure } from '../failure.ts';
import { diskFiles, makeFolder, namesIn, syncFolder } from '../store/files.ts';
import { lockFolder } from '../store/lock.ts';
import {
  cannotWrite,
  isBackupName,
  MANIFEST,
  type Manifest,
  parseManifest,
  writing,
} from './manifest.ts';
import { beyond, copyChunks, type Target } from './target.ts';

/** Suffix of a backup that is not whole, or is being removed. */
const PARTIAL = '.partial';

/** Names of the whole backups in a folder, oldest first. */
export async function backupsIn(folder: string): Promise<string[]> {
  return (await namesIn(diskFiles, folder)).filter(isBackupName);
}

/** @throws Failure `backup_invalid` */
export async function manifestIn(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  return parseManifest(await readFile(path, 'utf8').catch(() => ''), path);
}

/**
 * Opens a folder with a subfolder for each backup. Files that do not change are links to those of the backup before.
 *
 * @throws Failure `store_locked` while another backup writes there
 */
export async function openFolder(folder: string, name: string): Promise<Target> {
  const partial = join(folder, name + PARTIAL);
  const made = new Set<string>();
  const lock = await makeFolder(diskFiles, folder)
    .then(() => lockFolder(diskFiles, folder, () => {}))
    .catch((error: unknown) => {
      if (!(error instanceof Failure)) throw cannotWrite(folder, error);
      throw codedFailure('store_locked', `${folder}: another backup is being written there`, {
        cause: error,
      });
    });
  const place = join(folder, name);
  const removePartial = async () => {
    for (const each of await namesIn(diskFiles, folder)) {
      const isPartial = each.endsWith(PARTIAL) && isBackupName(each.slice(0, -PARTIAL.length));
      if (isPartial) await rm(join(folder, each), { recursive: true, force: true });
    }
  };
  const pathFor = async (path: string) => {
    const target = join(partial, path);
    if (!made.has(dirname(target))) await makeFolder(diskFiles, dirname(target));
    made.add(dirname(target));
    return target;
  };
  try {
    await removePartial();
    const newest = (await backupsIn(folder)).at(-1);
    // A damaged one has nothing to link to.
    const former = newest ? await manifestIn(join(folder, newest)).catch(() => null) : null;
    return {
      ...{ place, former },
      async reuse({ path, bytes, sha256 }) {
        const known = join(folder, former!.name, path);
        const found = await stat(known).catch(() => null);
        if (found?.size !== bytes) return null;
        const target = await writing(place, () => pathFor(path));
        // File systems have no links, or allow so many to a file.
        const isLinked = await link(known, target).then(
          () => true,
          () => false,
        );
        return isLinked ? { path, bytes, sha256 } : null;
      },
      copy: ({ path, chunks }) =>
        writing(join(place, path), async () => {
          const handle = await diskFiles.open(await pathFor(path), 'wx', 0o600);
          try {
            const file = await copyChunks(path, chunks(), (chunk) => handle.writeFile(chunk));
            await handle.sync();
            return file;
          } finally {
            await handle.close();
          }
        }),
      finish: () =>
        writing(place, async () => {
          for (const each of made) await syncFolder(diskFiles, each);
          await rename(partial, place);
          await syncFolder(diskFiles, folder);
        }),
      abort: removePartial,
      async prune(keep) {
        const old = beyond(await backupsIn(folder), keep);
        // Renamed first, so that no backup is seen that is no longer whole.
        for (const each of old) await rename(join(folder, each), join(folder, each + PARTIAL));
        await removePartial();
        return old;
      },
      close: () => lock.release(),
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
