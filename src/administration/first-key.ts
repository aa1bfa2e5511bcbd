import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { diskFiles, missingAs, remove, writeDurably } from '../store/files.ts';
import { hashOf } from '../store/key.ts';
import type { Store } from '../store/store.ts';

/** The owner's first key, while its file exists. */
export interface FirstKey {
  readonly key: string;
  /** Absolute path of the file that holds it. */
  readonly file: string;
}

const fileIn = (dataDir: string): string => resolve(join(dataDir, 'first-key'));

/** Writes the first key to a file in the data directory, readable only by its owner. */
export async function writeFirstKey(dataDir: string, key: string): Promise<void> {
  const file = fileIn(dataDir);
  // A file that a crash left behind would keep its permissions.
  await remove(diskFiles, `${file}.new`);
  await writeDurably(diskFiles, file, Buffer.from(`${key}\n`));
}

/** Removes the file once the key has been shown. */
export async function removeFirstKey({ file }: FirstKey): Promise<void> {
  await remove(diskFiles, file);
}

/**
 * Reads the first key where its file exists and the store has it. A crash before the store had it
 * leaves the file of an invalid key, which is removed.
 */
export async function readFirstKey(dataDir: string, store: Store): Promise<FirstKey | undefined> {
  const file = fileIn(dataDir);
  const text = await readFile(file, 'utf8').catch(missingAs(null));
  if (text === null) return undefined;
  const found = { key: text.trim(), file };
  const holder = await store.findKey(hashOf(found.key));
  if (holder && holder.key.revokedAt === null) return found;
  await removeFirstKey(found);
  return undefined;
}
