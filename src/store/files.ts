import { constants, writeSync } from 'node:fs';
import * as disk from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders } from '../folders.ts';

/** File system operations that the store uses. Tests replace them to inject errors. */
export interface Files
  extends Pick<
    typeof disk,
    | 'copyFile'
    | 'link'
    | 'mkdir'
    | 'open'
    | 'readdir'
    | 'readFile'
    | 'rename'
    | 'rm'
    | 'rmdir'
    | 'stat'
    | 'statfs'
    | 'unlink'
  > {
  /** Writes to the page cache, in 5 µs where a call on another thread takes 30 µs of CPU. */
  writeSync(fd: number, bytes: Uint8Array, offset: number, length: number, at: number): number;
}

export const diskFiles: Files = { ...disk, writeSync };

/** Only the owner may read stored files. */
export const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Writes bytes to the page cache, all of them. */
export function writeAllSync(files: Files, fd: number, bytes: Uint8Array, start: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += files.writeSync(fd, bytes, written, bytes.length - written, start + written);
  }
}

/** Writes all bytes at an offset of an open file. */
export async function writeAll(
  handle: disk.FileHandle,
  bytes: Uint8Array,
  start: number,
): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    written += (await handle.write(bytes, written, rest, start + written)).bytesWritten;
  }
}

/** Bytes at an offset of an open file; fewer where it ends before. */
export async function readAt(
  handle: disk.FileHandle,
  offset: number,
  length: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

/** Writes a file and syncs its bytes to disk, not its name. */
export async function writeSynced(
  files: Files,
  path: string,
  bytes: Uint8Array | string,
): Promise<void> {
  const handle = await files.open(path, 'w', FILE_MODE);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a file so that its name appears only once all of its bytes are on disk. */
export async function writeDurably(files: Files, path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.new`;
  await writeSynced(files, temporary, bytes);
  await files.rename(temporary, path);
  await syncFolder(files, dirname(path));
}

/** Makes names of a folder, or the bytes of a file, survive a power cut. */
export async function syncFolder(files: Files, folder: string): Promise<void> {
  const handle = await files.open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder and its parents, and syncs each to disk. */
export async function makeFolder(files: Files, path: string): Promise<void> {
  const first = await makeFolders(path, FOLDER_MODE, files.mkdir);
  if (first === undefined) return;
  for (let made = path; ; made = dirname(made)) {
    await syncFolder(files, dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/**
 * Copies a folder so that its name appears only once all of its bytes are on disk. A former copy is replaced.
 *
 * @param skips names of files that are not copied
 */
export async function copyFolderDurably(
  files: Files,
  source: string,
  target: string,
  skips: readonly string[],
): Promise<void> {
  const temporary = `${target}.new`;
  await files.rm(temporary, { recursive: true, force: true });
  await copyFolder(files, source, temporary, skips);
  await files.rm(target, { recursive: true, force: true });
  await files.rename(temporary, target);
  await syncFolder(files, dirname(target));
}

async function copyFolder(
  files: Files,
  source: string,
  target: string,
  skips: readonly string[],
): Promise<void> {
  await files.mkdir(target, { mode: FOLDER_MODE });
  for (const entry of await files.readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory()) await copyFolder(files, from, to, skips);
    if (!entry.isFile() || skips.includes(entry.name)) continue;
    await files.copyFile(from, to, constants.COPYFILE_FICLONE);
    await syncFolder(files, to);
  }
  await syncFolder(files, target);
}

/** Removes a file. A file that does not exist is not an error. */
export async function remove(files: Files, path: string): Promise<void> {
  await files.unlink(path).catch(missingAs(undefined));
}

/** Names in a folder, sorted; empty if the folder does not exist. */
export async function namesIn(files: Files, folder: string): Promise<string[]> {
  const names = await files.readdir(folder).catch(missingAs([]));
  return names.sort();
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** For `catch`: a value in the place of a file that does not exist. */
export function missingAs<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (isMissing(error)) return value;
    throw error;
  };
}
