import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codedFailure, Failure } from '../failure.ts';

/** Folders whose files the daemon trusts when it starts. */
const TRUSTED = ['.', 'store', 'audit', 'assets', 'spool'];

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;

/**
 * Checks which other users may write to a data folder: its files define keys, credits and the audit log.
 *
 * A folder that every user may write is rejected. A group, or an owner other than this process's user
 * and root, is a warning, since volumes of containers look like this (`fsGroup` of Kubernetes, a bind mount
 * of a host's user).
 *
 * @returns the warnings
 * @throws Failure `data_folder_open`; invalid_request where the path is a file
 */
export async function checkDataFolder(dataDir: string): Promise<readonly string[]> {
  const own = process.getuid?.();
  // Systems without user ids report modes that mean nothing.
  if (own === undefined) return [];
  const warnings: string[] = [];
  for (const name of TRUSTED) {
    const folder = join(dataDir, name);
    const found = await stat(folder).catch(() => null);
    if (name === '.' && found && !found.isDirectory()) {
      const message = `${dataDir}: expected a data folder, and it is a file`;
      throw new Failure('invalid_request', message);
    }
    if (!found?.isDirectory()) continue;
    const mode = (found.mode & 0o7777).toString(8);
    if (found.mode & OTHERS_WRITE) throw openToAll(folder, mode);
    if (found.mode & GROUP_WRITE) {
      warnings.push(`${folder}: group ${found.gid} may write there (mode ${mode})`);
    }
    if (found.uid !== own && found.uid !== 0) {
      warnings.push(`${folder}: belongs to user ${found.uid}, while this process is user ${own}`);
    }
  }
  return warnings;
}

/** Files and folders by which a store is recognised: without any of them the next start would make a new one. */
const STORE_PARTS = ['store/store.json', 'store/checkpoint.json', 'store/journal', 'store/shards'];

/** What a data folder keeps of a store beside it. */
const REMAINS = ['store/archive', 'assets', 'audit'];

/**
 * Refuses a folder whose store is gone although other parts of it are there, as after a volume was not mounted: a new
 * store would have a new owner, and delete the files that it does not know.
 *
 * @param isNew whether a new store is wanted all the same; the remains of the former one are moved
 * @returns the folder to which they were moved; null if there were none
 * @throws Failure service_error with code `store_missing`
 */
export async function checkStorePresent(dataDir: string, isNew: boolean): Promise<string | null> {
  if ((await filled(dataDir, STORE_PARTS)).length > 0) return null;
  const remains = await filled(dataDir, REMAINS);
  if (remains.length === 0) return null;
  if (isNew) {
    const former = `former-${new Date().toISOString().replaceAll(':', '')}`;
    for (const name of remains) {
      await rename(join(dataDir, name), join(dataDir, `${name}.${former}`));
    }
    return former;
  }
  const message = `${dataDir}: the store is missing, although there are files of it (${remains.join(', ')}). Nothing was changed; mount its volume or restore the folder from a backup. To begin a new store, start once with --new-store: the files are then kept under another name`;
  throw codedFailure('store_missing', message);
}

/** Those that are files, or folders with content. */
async function filled(dataDir: string, names: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(dataDir, name);
      const isFile = await stat(path).then(
        (each) => each.isFile(),
        () => false,
      );
      return isFile || (await readdir(path).catch(() => [])).length > 0 ? [name] : [];
    }),
  );
  return found.flat();
}

function openToAll(folder: string, mode: string): Failure {
  const message = `${folder}: every user may write there (mode ${mode}), and so forge keys and credits; run chmod o-w on it, or name a folder that does not exist yet, which is then created with access for its owner only`;
  return codedFailure('data_folder_open', message);
}
