import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { valueOr } from './flow.ts';

/** Names of temporary files and folders. Each contains the place and the process ID of its run. */
const TEMPORARY = /^(?:\.oriel-(\w*)-(\d+)-\w+\.tmp|oriel-[a-z]+-(\w*)-(\d+)-\w{6})$/;

/** Milliseconds after its last write in which a temporary file of another machine or container is kept. */
const ABANDONED_MS = 24 * 3600_000;

let placeHere: string | undefined;

/** Identifies this machine and its namespace of process IDs, since an ID means nothing in another one. */
function place(): string {
  if (placeHere !== undefined) return placeHere;
  // Empty outside of Linux.
  const namespace = valueOr(() => readlinkSync('/proc/self/ns/pid'), '');
  placeHere = `${hostname()}${namespace}`.replaceAll(/\W/g, '').slice(-48);
  return placeHere;
}

/** A name for a temporary file of this run. @param name of word characters, once for each folder */
export const temporaryName = (name: number | string) =>
  `.oriel-${place()}-${process.pid}-${name}.tmp`;

/** Whether a process with this ID exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: a process of another user exists.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes the temporary files of killed runs from a folder. @param ended a process that is done with its own */
export function removeTemporaries(folder: string, ended?: number): void {
  for (const name of readdirSync(folder)) {
    const match = TEMPORARY.exec(name);
    if (!match) continue;
    const isFolder = match[4] !== undefined;
    const [from, pid] = [match[1] ?? match[3], Number(match[2] ?? match[4])];
    const isHere = from === place();
    if (isHere && pid !== ended && isAlive(pid)) continue;
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    // A run elsewhere may be alive, and may use a folder for long without changing it.
    if (!isHere && (isFolder || !found || found.mtimeMs > Date.now() - ABANDONED_MS)) continue;
    // In a shared folder, another user could replace a file of theirs by a link before it is removed.
    if (found?.uid === (process.getuid?.() ?? found?.uid))
      rmSync(path, { force: true, recursive: isFolder, maxRetries: 3 });
  }
}

/** Removes the temporary folders of killed processes and ended threads. The next run retries what fails. */
export function removeTemporaryFolders(ended?: number): void {
  try {
    removeTemporaries(tmpdir(), ended);
  } catch {}
}

/**
 * Makes a temporary folder for this run.
 *
 * @returns its path, and a function that removes it; it is also removed when the process exits
 * @throws the error of the system
 */
export function makeTemporaryFolder(purpose: string) {
  removeTemporaries(tmpdir());
  const path = mkdtempSync(join(tmpdir(), `oriel-${purpose}-${place()}-${process.pid}-`));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', remove);
  return { path, remove };
}
