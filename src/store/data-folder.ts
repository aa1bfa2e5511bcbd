import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../failure.ts';

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
    if (name === '.' && found && !found.isDirectory()) throw noFolder(dataDir);
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

function noFolder(path: string): Failure {
  return new Failure('invalid_request', `${path}: expected a data folder, and it is a file`);
}

function openToAll(folder: string, mode: string): Failure {
  const message = `${folder}: every user may write there (mode ${mode}), and so forge keys and credits; run chmod o-w on it, or name a folder that does not exist yet, which is then created with access for its owner only`;
  return new Failure('invalid_request', message, { code: 'data_folder_open' });
}
