import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './oriel.ts';

const LISTED = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: ROOT });
const FILES = LISTED.stdout.toString().split('\0').filter(Boolean);

/** Whether the repository is a clone, and not the content of an archive. */
export const IS_CLONE = LISTED.status === 0;

/** Copies the files of a fresh clone, without those of tests, and links its packages. @returns the folder */
export function cloneWithPackages(folder: string): string {
  for (const path of FILES) {
    if (!/^(test|docs)\//.test(path)) cpSync(join(ROOT, path), join(folder, path));
  }
  const modules = join(ROOT, 'node_modules');
  // Links are quick, and impossible between two file systems.
  const linked = spawnSync('cp', ['--recursive', '--link', modules, folder]);
  if (linked.status !== 0) cpSync(modules, join(folder, 'node_modules'), { recursive: true });
  return folder;
}
