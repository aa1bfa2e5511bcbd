import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

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
  return filesBelow(folder).filter((path) => path.includes('.oriel-'));
}
