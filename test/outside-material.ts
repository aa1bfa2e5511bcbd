import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A folder of material that the repository may not contain: recorded answers of providers, their API documents,
 * real images. Only the variable ORIEL_SHARED names where it is; all tests pass without it.
 */
export interface OutsideFolder {
  readonly isPresent: boolean;
  /** Names of its files; none if the folder is absent. */
  readonly files: readonly string[];
  path(name: string): string;
  read(name: string): string;
}

/** Why tests of outside material are skipped. */
export const SKIPPED = 'ORIEL_SHARED does not name a folder of outside material';

/** Throws an Error if ORIEL_SHARED is set and has no such folder: a misspelt path must not skip tests. */
export function outsideFolder(name: string): OutsideFolder {
  const root = process.env['ORIEL_SHARED'] ?? '';
  const folder = join(root, name);
  const isPresent = root !== '';
  if (isPresent && !existsSync(folder)) throw new Error(`ORIEL_SHARED: ${folder} does not exist`);
  const path = (file: string) => join(folder, file);
  return {
    isPresent,
    files: isPresent ? readdirSync(folder) : [],
    path,
    read: (file) => readFileSync(path(file), 'utf8'),
  };
}
