import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { lockDescriptor } from '../../libc.ts';
import type { Files } from '../files.ts';
import {
  currentOwner,
  isAlive,
  type Lock,
  lockByPid,
  parseOwner,
  storeLocked,
} from './pid-lock.ts';

const FLAGS = constants.O_RDWR | constants.O_CREAT;

/**
 * Locks a folder for this process. The kernel locks open descriptors of the folder and of its file
 * `lock`, and releases them when the process ends, in any pid namespace. The file names the process for
 * messages and is never removed: a lock on a removed file would exclude no process.
 *
 * @param onFallback called if the system or the file system has no kernel locks. Then the pid in the
 *   file decides, which excludes only processes of this host and pid namespace
 * @throws Failure service_error, 503 `store_locked`, while another process has the lock
 */
export async function lockFolder(
  files: Files,
  folder: string,
  onFallback: () => void,
): Promise<Lock> {
  const path = join(folder, 'lock');
  const held: FileHandle[] = [];
  const close = async () => {
    for (const handle of held.splice(0)) await handle.close();
  };
  try {
    // The folder is locked too, so that removing the file does not let another process in. The file is
    // locked because NFS rejects a lock on a folder.
    const results: string[] = [];
    for (const [target, flags] of [[folder, constants.O_RDONLY] as const, [path, FLAGS] as const]) {
      const handle = await files.open(target, flags, 0o600);
      held.push(handle);
      const result = lockDescriptor(handle.fd);
      if (result === 'taken') throw storeLocked(path, await ownerIn(files, path));
      results.push(result);
    }
    if (!results.includes('locked')) {
      await close();
      onFallback();
      return await lockByPid(files, path);
    }
    const owner = await ownerIn(files, path);
    // The owner may be a process without kernel locks, such as an older version of this program.
    if (owner && !owner.kernel && (await isAlive(files, owner))) throw storeLocked(path, owner);
    const file = held[1]!;
    await file.truncate(0);
    await file.write(JSON.stringify({ ...(await currentOwner(files)), kernel: true }), 0);
    return {
      release: async () => {
        await file.truncate(0).catch(() => {});
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The owner in the lock file; null if the file is missing or names none. */
async function ownerIn(files: Files, path: string) {
  try {
    return parseOwner((await files.readFile(path)).toString());
  } catch {
    return null;
  }
}
