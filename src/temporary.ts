import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names of files and folders that exist for the time of a run. They have the number of its process. */
const TEMPORARY = /^(?:\.oriel-(\d+)-\d+\.tmp|oriel-[a-z]+-(\d+)-\w{6})$/;

export const temporaryName = (number: number) => `.oriel-${process.pid}-${number}.tmp`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes what killed runs have left in a folder. @param ended process that uses its own no more */
export function removeTemporaries(folder: string, ended?: number): void {
  for (const name of readdirSync(folder)) {
    const [, file, directory] = TEMPORARY.exec(name) ?? [];
    const pid = file ?? directory;
    if (pid === undefined || (Number(pid) !== ended && isAlive(Number(pid)))) continue;
    const path = join(folder, name);
    // A folder for all users may have those of others, who could swap folders for links in the meantime.
    const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (owner === (process.getuid?.() ?? owner))
      rmSync(path, { force: true, recursive: directory !== undefined, maxRetries: 3 });
  }
}

/** Removes folders that killed processes or ended threads have left; those that cannot be removed now, another run does. */
export function removeTemporaryFolders(ended?: number): void {
  try {
    removeTemporaries(tmpdir(), ended);
  } catch {}
}

/**
 * Makes a folder for the time of this run.
 *
 * @returns its path, and what removes it, which the end of the process does at the latest
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
