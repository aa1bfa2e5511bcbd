import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from '../oriel.ts';
import { writePhotographs } from './photographs.ts';

/** A folder with images, in which no run of the test may leave anything unfinished. */
export async function folderWith(...names: string[]): Promise<string> {
  const folder = temporaryFolder();
  onTestFinished(() => expect(temporariesBelow(folder)).toEqual([]));
  await writePhotographs(folder, names);
  return folder;
}

/** A folder with files; names may have folders. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryFolder();
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  return folder;
}

/** The paths of all files below a folder, sorted, hidden ones included. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Every file below a folder with its content, to be compared after a run. */
export function contentBelow(folder: string): Map<string, string> {
  return new Map(
    filesBelow(folder).map((path) => [path, readFileSync(join(folder, path), 'base64')]),
  );
}

/** The files below a folder that an unfinished run would leave. */
export function temporariesBelow(folder: string): string[] {
  return filesBelow(folder).filter((path) => /\.oriel-.*\.tmp$/.test(path));
}

/** The size of all files below a folder. */
export function bytesBelow(folder: string): number {
  return filesBelow(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
