import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names of temporary files and folders. Each contains the process ID of its run. */
const TEMPORARY = /^(?:\.oriel-(\d+)-\d+\.tmp|oriel-[a-z]+-(\d+)-\w{6})$/;

export const temporaryName = (number: number) => `.oriel-${process.pid}-${number}.tmp`;

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
    const [, file, directory] = TEMPORARY.exec(name) ?? [];
    const pid = file ?? directory;
    if (pid === undefined || (Number(pid) !== ended && isAlive(Number(pid)))) continue;
    const path = join(folder, name);
    // In a shared folder, another user could replace a file of theirs by a link before it is removed.
    const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (owner === (process.getuid?.() ?? owner))
      rmSync(path, { force: true, recursive: directory !== undefined, maxRetries: 3 });
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
  const path = mkdtempSync(join(tmpdir(), `oriel-${purpose}-${process.pid}-`));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', remove);
  return { path, remove };
}
