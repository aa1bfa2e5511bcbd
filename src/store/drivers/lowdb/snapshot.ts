import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { diskFiles, isMissing, readAt } from '../../files.ts';
import { lengthOfLines } from '../../line.ts';
import { corruptStore } from './files/errors.ts';
import { placeIn } from './files/place.ts';
import { journalName } from './journal/journal-file.ts';
import { readManifest, STORE_FILE } from './journal/manifest.ts';

/** A file of a store, open for reading. */
export interface SnapshotFile {
  /** Path below the folder of the store. */
  readonly path: string;
  readonly handle: FileHandle;
  /** Bytes that belong to the snapshot: a journal may grow meanwhile. */
  readonly bytes: number;
  /** Whether the store never changes a file of this name. */
  readonly isImmutable: boolean;
}

export interface Snapshot {
  /** Identifier of the store. */
  readonly store: string;
  readonly files: readonly SnapshotFile[];
  close(): Promise<void>;
}

/** Attempts to open the files of one checkpoint while a daemon replaces them, and milliseconds between two. */
const ATTEMPTS = 50;
const PAUSE_MS = 20;

/**
 * Opens the files of a store as they are at one moment, also while a daemon writes it. Shards and segments never
 * change, journals only grow, and the open files stay readable after a later checkpoint has removed their names. So
 * the files are those that a crash at this moment would leave, and the store recovers from them as from a crash.
 *
 * @throws Failure `store_corrupt` if a file that the store names is missing
 */
export async function snapshotFolder(directory: string): Promise<Snapshot> {
  for (let attempt = 1; ; attempt += 1) {
    const opened: SnapshotFile[] = [];
    try {
      const store = await openAll(directory, opened);
      if (store !== null) return { store, files: opened, close: () => closeFiles(opened) };
    } catch (error) {
      await closeFiles(opened);
      if (!isMissing(error)) throw error;
      if (attempt === ATTEMPTS) {
        const { path = directory } = error as NodeJS.ErrnoException;
        throw corruptStore(path, 'missing, although the store names it');
      }
    }
    await closeFiles(opened);
    await delay(PAUSE_MS);
  }
}

/** Identifier of the store in a folder; null if there is none. @throws Failure `store_corrupt` */
export async function storeIdIn(directory: string): Promise<string | null> {
  return (await readManifest(placeIn(diskFiles, directory)))?.store ?? null;
}

async function closeFiles(files: readonly SnapshotFile[]): Promise<void> {
  // Closing twice is no error: a reader has closed the files that it has read.
  for (const { handle } of files) await handle.close().catch(() => {});
}

/** @returns the identifier of the store; null if a journal was started meanwhile */
async function openAll(directory: string, opened: SnapshotFile[]): Promise<string | null> {
  const add = async (path: string, isImmutable: boolean, isLast = false) => {
    const handle = await diskFiles.open(join(directory, path), 'r');
    const file = { path, handle, bytes: 0, isImmutable };
    opened.push(file);
    const { size } = await handle.stat();
    const bytes = isLast ? await lengthOfLines(handle, size) : size;
    opened[opened.length - 1] = { ...file, bytes };
    return handle;
  };
  const named = { journal: 1, shards: [] as string[], segments: [] as string[] };
  try {
    const handle = await add('checkpoint.json', false);
    const { journal, shards, segments } = (await jsonOf(handle)) as CheckpointFiles;
    named.journal = journal;
    named.shards = shards.map(({ file }) => file);
    named.segments = (segments?.files ?? []).map(({ file }) => file);
  } catch (error) {
    // A new store has none.
    if (!isMissing(error)) throw error;
  }
  for (const name of named.shards) await add(`shards/${name}`, true);
  for (const name of named.segments) await add(`archive/${name}`, true);
  // Before the journals: they have all that it states, or more.
  const manifest = await add(STORE_FILE, false);
  const { store, journal } = (await jsonOf(manifest)) as StoreFile;
  for (let sequence = named.journal; sequence <= journal.sequence; sequence += 1) {
    await add(`journal/${journalName(sequence)}`, false, sequence === journal.sequence);
  }
  // A journal that was started after a failed write says which bytes of the one before are void.
  const { ino } = await diskFiles.stat(join(directory, STORE_FILE));
  return (await manifest.stat()).ino === ino ? store : null;
}

interface CheckpointFiles {
  readonly journal: number;
  readonly shards: readonly { readonly file: string }[];
  readonly segments?: { readonly files: readonly { readonly file: string }[] };
}

interface StoreFile {
  readonly store: string;
  readonly journal: { readonly sequence: number };
}

/** The content of a file, whose handle stays open. */
async function jsonOf(handle: FileHandle): Promise<unknown> {
  const { size } = await handle.stat();
  return JSON.parse((await readAt(handle, 0, size)).toString());
}
