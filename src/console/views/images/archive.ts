import { crc32 } from '../../components/bytes.ts';
import type { Item, Result } from './store.ts';
import { writeZip, type ZipEntry } from './zip.ts';

const MANIFEST = 'manifest.json';

/** Files with results, in the order of the list. */
export function withResults(items: readonly Item[]): readonly (Item & { result: Result })[] {
  return items.filter((item): item is Item & { result: Result } => item.result !== null);
}

/** The folder of a path with a slash at its end; empty for none. */
function folderOf(path: string): string {
  const parts = path.split(/[/\\]/).slice(0, -1);
  const safe = parts.filter((part) => part !== '' && part !== '.' && part !== '..');
  return safe.map((part) => `${part}/`).join('');
}

/** Bytes of a name that file systems hold. */
const MAX_BYTES = 255;

/** A path in a folder that no entry has yet, also where a file system does not distinguish case. */
function claim(folder: string, name: string, taken: Set<string>): string {
  const dot = name.lastIndexOf('.');
  const letters = [...name.slice(0, dot)];
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? name.slice(dot) : `-${number}${name.slice(dot)}`;
    while (letters.length > 0 && new Blob([...letters, ending]).size > MAX_BYTES) letters.pop();
    const tried = folder + letters.join('') + ending;
    const key = tried.normalize('NFC').toLowerCase();
    if (taken.has(key)) continue;
    taken.add(key);
    return tried;
  }
}

/** All images that were made, in the folders of their inputs, and a manifest. @throws Error beyond 4 GiB */
export function archiveOf(items: readonly Item[]): Blob {
  const taken = new Set([MANIFEST]);
  const entries: ZipEntry[] = [];
  const results: object[] = [];
  for (const { path, result } of withResults(items)) {
    const names = new Map<string, string>();
    for (const { outputFilename, blob, crc } of result.outputs) {
      const name = claim(folderOf(path), outputFilename, taken);
      names.set(outputFilename, name);
      entries.push({ name, blob, crc });
    }
    results.push(namedRecord(path, result, names));
  }
  const manifest = new TextEncoder().encode(`${JSON.stringify({ results }, null, 2)}\n`);
  entries.push({ name: MANIFEST, blob: new Blob([manifest]), crc: crc32(manifest) });
  return writeZip(entries, new Date());
}

/** The record of a file with the names of the archive. */
function namedRecord(
  path: string,
  { record, job }: Result,
  names: ReadonlyMap<string, string>,
): object {
  const rename = <Named extends { readonly outputFilename?: string }>(named: Named) => ({
    ...named,
    outputFilename: names.get(named.outputFilename ?? ''),
  });
  return {
    ...rename(record),
    ...(record.outputs && { outputs: record.outputs.map(rename) }),
    inputFilename: path,
    operation: job.operation.name,
  };
}

/** All reports as one JSON document. */
export function reportOf(items: readonly Item[]): Blob {
  const results = withResults(items).map(({ path, result }) =>
    namedRecord(path, result, new Map()),
  );
  return new Blob([`${JSON.stringify({ results }, null, 2)}\n`], { type: 'application/json' });
}
