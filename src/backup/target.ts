import { createHash } from 'node:crypto';
import type { SnapshotFile } from '../store/drivers/open.ts';
import { type BackupFile, invalidBackup, type Manifest } from './manifest.ts';

/** A file to write. Its content may be read twice. */
export interface NewFile extends Pick<BackupFile, 'path' | 'bytes'> {
  readonly chunks: () => AsyncGenerator<Buffer, void>;
}

/** Where one backup is written. It becomes visible by `finish`. */
export interface Target {
  /** Place and name, for people. */
  readonly place: string;
  /** The newest backup before this one; null if there is none. */
  readonly former: Manifest | null;
  /** Takes a file from the former backup. @returns null if it has to be copied */
  reuse(file: BackupFile): Promise<BackupFile | null>;
  copy(file: NewFile): Promise<BackupFile>;
  /** Called once all files are written, the manifest as the last. */
  finish(): Promise<void>;
  /** Removes what was written. */
  abort(): Promise<void>;
  /** Removes the oldest backups. @returns their names */
  prune(keep: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * 1024;

/** Reads a file to its length, which a file that grows may exceed. The file stays open. */
export async function* contentOf({
  path,
  handle,
  bytes,
}: SnapshotFile): AsyncGenerator<Buffer, void> {
  for (let position = 0; position < bytes; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - position));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) {
      throw invalidBackup(`${path}: expected ${bytes} bytes, and it ends at ${position}`);
    }
    position += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

/** Writes chunks, and returns what was written. */
export async function copyChunks(
  path: string,
  chunks: AsyncIterable<Buffer>,
  write: (chunk: Buffer) => Promise<unknown>,
): Promise<BackupFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
    await write(chunk);
  }
  return { path, bytes, sha256: hash.digest('hex') };
}

/** Names of backups that are beyond the newest ones. */
export function beyond(names: readonly string[], keep: number): readonly string[] {
  return names.toSorted().slice(0, Math.max(0, names.length - keep));
}
