import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../failure.ts';

/** Folders of the data folder whose files are trusted at a start. */
const TRUSTED = ['.', 'store', 'audit', 'assets', 'spool'];

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;

/**
 * Checks who else may write in a data folder: keys, credits and the audit log are what its files say.
 *
 * Every user: refused. A group, or another owner than this process's user and root: a warning, since
 * volumes of containers look like this (`fsGroup` of Kubernetes, a bind mount of a host's user).
 *
 * @returns the warnings
 * @throws Failure `data_folder_open`
 */
export async function checkDataFolder(dataDir: string): Promise<readonly string[]> {
  const own = process.getuid?.();
  // Other systems tell modes that mean nothing.
  if (own === undefined) return [];
  const warnings: string[] = [];
  for (const name of TRUSTED) {
    const folder = join(dataDir, name);
    const found = await stat(folder).catch(() => null);
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

function openToAll(folder: string, mode: string): Failure {
  const message = `${folder}: every user may write there (mode ${mode}), and so forge keys and credits; take that away (chmod o-w), or name a folder that does not exist yet, which is made for its owner alone`;
  return new Failure('invalid_request', message, { code: 'data_folder_open' });
}
