import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. Node's recursive mkdir never returns if mkdir(2) gives ENOENT
 * although the parent exists, as below /proc (Node 20 to 24): it tries the folder and its parent in turn
 * for ever. This function tries each folder once.
 *
 * @param mode permissions of each created folder
 * @param make mkdir of the file system
 * @returns the topmost created folder; undefined if the folder existed
 * @throws the error of the system if a folder cannot be created
 */
export async function makeFolders(
  path: string,
  mode = 0o777,
  make: typeof mkdir = mkdir,
): Promise<string | undefined> {
  const missing: string[] = [];
  for (let folder = path; !(await isFolder(folder)); folder = dirname(folder)) {
    missing.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of missing) {
    try {
      await make(folder, { mode });
    } catch (error) {
      // Another process may have created it in the meantime.
      if (!(await isFolder(folder))) throw error;
    }
  }
  return missing[0];
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ?? false;
}
