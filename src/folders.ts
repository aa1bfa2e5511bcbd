import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and the missing folders above it. Node's own recursive mkdir never returns where
 * mkdir(2) answers ENOENT although the folder above exists, as below /proc (Node 20 to 24): it
 * makes the two in turns for ever. Here each folder is tried once.
 *
 * @param mode permissions of each folder that is made
 * @param make mkdir of the file system
 * @returns the topmost folder that was missing; undefined where none was
 * @throws the system's error for the folder that cannot be made
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
      // Another process may have made it meanwhile.
      if (!(await isFolder(folder))) throw error;
    }
  }
  return missing[0];
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
