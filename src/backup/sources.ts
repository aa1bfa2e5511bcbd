import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAssetId, QUARANTINE, SUBFOLDER } from '../assets/storage/identifier.ts';
import { codedFailure } from '../failure.ts';
import { HEAD_FILE, isLogFile } from '../store/audit/entry.ts';
import { auditFolder } from '../store/audit/log.ts';
import { openSnapshot, type SnapshotFile, storeIdOf } from '../store/drivers/open.ts';
import { diskFiles, missingAs, namesIn } from '../store/files.ts';
import { lengthOfLines } from '../store/line.ts';

export interface SourceOptions {
  readonly dataDir: string;
  /** Whether the records are in the data folder, and not in a database. */
  readonly isEmbedded: boolean;
  /** Files with the configuration and the key of secrets. */
  readonly others: readonly { readonly path: string; readonly file: string }[];
}

/**
 * Yields the files of a data folder so that they fit together, also while a daemon runs: files of assets and documents,
 * the store as it is at one moment, the files that were added since, and logs, which have all that the store has or
 * more. Every record of the store has its file, unless the record was deleted meanwhile.
 */
export async function* sourceFiles({
  dataDir,
  isEmbedded,
  others,
}: SourceOptions): AsyncGenerator<SnapshotFile, void> {
  const seen = new Set<string>();
  yield* assetFiles(dataDir, seen);
  if (isEmbedded) yield* storeFiles(dataDir);
  yield* assetFiles(dataDir, seen);
  yield* auditFiles(auditFolder(dataDir));
  for (const { path, file } of others) {
    const handle = await opened(file, 0);
    if (handle) yield whole(path, handle, await sizeOf(handle));
  }
}

const whole = (path: string, handle: FileHandle, bytes: number, isImmutable = false) => ({
  ...{ path, handle, bytes, isImmutable },
});

async function* storeFiles(dataDir: string): AsyncGenerator<SnapshotFile, void> {
  const directory = join(dataDir, 'store');
  const seen = new Set<string>();
  // Documents are whole in files that never change. A file that a change replaces stays for a while, so those of the
  // snapshot that the first round has not found are still there for the second, which comes at once.
  yield* storeFolder(directory, 'documents', seen);
  const snapshot = await openSnapshot(directory);
  try {
    yield* storeFolder(directory, 'documents', seen);
    for (const file of snapshot.files) yield { ...file, path: `store/${file.path}` };
  } finally {
    await snapshot.close();
  }
  // Lines in files of their own, of which a reader skips those that are not whole.
  yield* storeFolder(directory, 'requests', seen);
}

/** Files of a folder of the store that were not seen before. */
async function* storeFolder(directory: string, name: string, seen: Set<string>) {
  for (const entry of await entriesIn(join(directory, name))) {
    const inside = join(entry.parentPath, entry.name).slice(directory.length + 1);
    if (!entry.isFile() || inside.endsWith('.new') || seen.has(inside)) continue;
    seen.add(inside);
    const handle = await opened(join(directory, inside));
    if (!handle) continue;
    yield whole(`store/${inside}`, handle, await sizeOf(handle), name === 'documents');
  }
}

async function* assetFiles(dataDir: string, seen: Set<string>): AsyncGenerator<SnapshotFile, void> {
  const root = join(dataDir, 'assets');
  for (const subfolder of await namesIn(diskFiles, root)) {
    if (subfolder === QUARANTINE || !SUBFOLDER.test(subfolder)) continue;
    for (const id of await namesIn(diskFiles, join(root, subfolder))) {
      if (!isAssetId(id) || seen.has(id)) continue;
      seen.add(id);
      const handle = await opened(join(root, subfolder, id));
      if (handle) yield whole(`assets/${subfolder}/${id}`, handle, await sizeOf(handle), true);
    }
  }
}

async function* auditFiles(folder: string): AsyncGenerator<SnapshotFile, void> {
  // Before the lines: they have the one that it names.
  const head = await opened(join(folder, HEAD_FILE));
  if (head) yield whole(`audit/${HEAD_FILE}`, head, await sizeOf(head));
  for (const name of (await namesIn(diskFiles, folder)).filter(isLogFile)) {
    const handle = await opened(join(folder, name));
    if (!handle) continue;
    yield whole(`audit/${name}`, handle, await lengthOfLines(handle, await sizeOf(handle)));
  }
}

/** Null for a file that was deleted meanwhile. Links in a data folder are not followed. */
function opened(path: string, flags = constants.O_NOFOLLOW): Promise<FileHandle | null> {
  return open(path, constants.O_RDONLY | flags).catch(missingAs(null));
}

const sizeOf = async (handle: FileHandle): Promise<number> => (await handle.stat()).size;

function entriesIn(folder: string) {
  return readdir(folder, { recursive: true, withFileTypes: true }).catch(missingAs([]));
}

/** Identifier of the store in a data folder. @throws Failure `no_store`, `store_corrupt` */
export async function storeIdIn(dataDir: string): Promise<string> {
  const id = await storeIdOf(join(dataDir, 'store'));
  if (id !== null) return id;
  throw codedFailure('no_store', `${dataDir}: there is no store of Oriel`);
}
