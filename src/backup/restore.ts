import { open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { subfolderOf } from '../assets/storage/identifier.ts';
import { chunksOf } from '../assets/storage/local-chunks.ts';
import { codedFailure, Failure } from '../failure.ts';
import { auditFolder } from '../store/audit/log.ts';
import { readAudit } from '../store/audit/read.ts';
import { openStore } from '../store/drivers/open.ts';
import { diskFiles, makeFolder, syncFolder } from '../store/files.ts';
import { checkIntegrity } from '../store/integrity.ts';
import type { TransferRecord } from '../store/transfer.ts';
import type { BucketBackups } from './bucket.ts';
import { backupsIn, manifestIn } from './folder.ts';
import {
  type BackupFile,
  invalidBackup,
  isBackupName,
  MANIFEST,
  type Manifest,
  readManifest,
  writing,
} from './manifest.ts';
import { readTar } from './tar.ts';
import { copyChunks } from './target.ts';

/** A backup that is read. */
export interface Origin {
  readonly place: string;
  readonly manifest: Manifest;
  read(file: BackupFile): AsyncGenerator<Buffer, void>;
  close(): Promise<void>;
}

/** Folder in the new place for files that are not verified yet. */
const UNVERIFIED = '.oriel-restore';

/**
 * Opens a backup.
 *
 * @param from a backup, the folder of several, of which the newest is taken, or an archive
 * @throws Failure `backup_invalid`
 */
export async function openOrigin(from: string): Promise<Origin> {
  const found = await stat(from).catch(() => null);
  if (found?.isFile()) return openArchive(from);
  if (!found?.isDirectory())
    throw invalidBackup(`${from}: expected a backup, and nothing is there`);
  const isOne = await stat(join(from, MANIFEST)).catch(() => null);
  const newest = isOne ? '' : (await backupsIn(from)).at(-1);
  if (newest === undefined) throw invalidBackup(`${from}: expected a backup, and none is whole`);
  const folder = join(from, newest);
  return {
    place: folder,
    manifest: await manifestIn(folder),
    read: ({ path }) => chunksOf(() => open(join(folder, path), 'r')),
    close: async () => {},
  };
}

async function openArchive(file: string): Promise<Origin> {
  const handle = await open(file, 'r');
  try {
    const entries = await readTar(file, handle);
    const read = ({ path }: Pick<BackupFile, 'path'>) => {
      const { offset, bytes } = entries.get(path) ?? { offset: 0, bytes: 0 };
      return chunksOf(() => open(file, 'r'), { first: offset, last: offset + bytes - 1 });
    };
    const manifest = await readManifest(read({ path: MANIFEST }), `${file}: ${MANIFEST}`);
    return { place: file, manifest, read, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens a backup in a bucket. @param name null for the newest */
export async function openStored(backups: BucketBackups, name: string | null): Promise<Origin> {
  const chosen = name ?? (await backups.names()).at(-1);
  if (chosen === undefined)
    throw invalidBackup('expected a backup, and none in the bucket is whole');
  const manifest = await backups.manifest(chosen);
  return {
    ...{ place: chosen, manifest },
    read: (file) => backups.read(chosen, file),
    close: async () => {},
  };
}

/** The place of several backups, and the name of the one that a place has at its end. */
export function splitName(place: string): readonly [place: string, name: string | null] {
  const [, before, name = ''] = /^(.*)\/([^/]+)\/*$/.exec(place) ?? [];
  return before !== undefined && isBackupName(name) ? [before, name] : [place, null];
}

export interface RestoreReport {
  readonly name: string;
  readonly createdAt: string;
  readonly driver: Manifest['store']['driver'];
  readonly files: number;
  readonly bytes: number;
  /** Counts of the restored store or of the database; null without both, and of a dry run without a database. */
  readonly audit: {
    readonly accounts: number;
    readonly keys: number;
    readonly tasks: number;
  } | null;
  /** Sums and lines of the audit log that do not agree. */
  readonly faults: readonly string[];
}

/** The database of a backup, restored by its own tools. */
export interface RestoredDatabase {
  readonly records: AsyncIterable<TransferRecord>;
  /** Whether files of its records are in the data folder, and not in a bucket. */
  readonly hasFiles: boolean;
}

/**
 * Verifies every file of a backup. Writes them into an empty folder, audits the store and the audit log, and then
 * gives the files their names.
 *
 * @param into null to write nothing
 * @param database whose sums are compared, and whose records must have their files in the backup
 * @throws Failure `backup_invalid`; invalid_request for a folder that is not empty
 */
export async function restoreBackup(
  origin: Origin,
  into: string | null,
  database: RestoredDatabase | null = null,
): Promise<RestoreReport> {
  const { manifest, place } = origin;
  const { name, createdAt, files, store } = manifest;
  const facts = {
    ...{ name, createdAt, driver: store.driver, files: files.length },
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
  if (into === null) {
    for (const file of files) await verified(origin, file, async () => {});
    return { ...facts, ...(await auditDatabase(database, files)) };
  }
  await makeEmpty(into);
  const staging = join(into, UNVERIFIED);
  try {
    for (const file of files) {
      const target = join(staging, file.path);
      const handle = await writing(target, async () => {
        await makeFolder(diskFiles, dirname(target));
        return diskFiles.open(target, 'wx', 0o600);
      });
      try {
        await verified(origin, file, (chunk) => writing(target, () => handle.writeFile(chunk)));
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
    const checked = await auditRestored(staging, store.driver === 'lowdb', place);
    const { audit, faults } = await auditDatabase(database, files);
    // The store last: without it no daemon takes the folder for one of Oriel.
    const names = (await readdir(staging)).toSorted(
      (one, other) => Number(one === 'store') - Number(other === 'store'),
    );
    for (const each of names) await rename(join(staging, each), join(into, each));
    await rmdir(staging);
    await syncFolder(diskFiles, into);
    return {
      ...facts,
      audit: checked.audit ?? audit,
      faults: [...checked.faults, ...faults],
    };
  } catch (error) {
    await rm(staging, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

async function verified(
  { place, read }: Origin,
  expected: BackupFile,
  write: (chunk: Buffer) => Promise<unknown>,
): Promise<void> {
  const { path, bytes, sha256 } = expected;
  let left = bytes;
  const found = await copyChunks(path, read(expected), async (chunk) => {
    left -= chunk.length;
    if (left < 0) throw invalidBackup(`${place}: ${path}: larger than the ${bytes} bytes it had`);
    await write(chunk);
  }).catch((error: unknown) => {
    if (error instanceof Failure && error.code !== 'storage_unavailable') throw error;
    if (error instanceof Failure && error.message.includes('cannot be written')) throw error;
    throw invalidBackup(`${place}: ${path}: cannot be read: ${(error as Error).message}`, error);
  });
  if (found.bytes === bytes && found.sha256 === sha256) return;
  throw invalidBackup(`${place}: ${path}: the content differs from what was backed up`);
}

/** Creates a folder, or takes one that is empty. */
async function makeEmpty(folder: string): Promise<void> {
  const names = await writing(folder, async () => {
    await makeFolder(diskFiles, folder);
    return readdir(folder);
  });
  if (names.length === 0) return;
  const reason = names.includes(UNVERIFIED)
    ? `it has ${UNVERIFIED} of a restore that was interrupted; remove that`
    : `it has ${JSON.stringify(names[0])}`;
  throw codedFailure('store_not_empty', `${folder}: expected an empty folder, and ${reason}`);
}

/** Opens the store of a folder as a daemon would, and compares all sums with their records. */
async function auditRestored(folder: string, hasStore: boolean, place: string) {
  const faults: string[] = [];
  for await (const item of readAudit(auditFolder(folder))) {
    if ('fault' in item) faults.push(`audit log: ${item.fault}`);
  }
  if (!hasStore) return { audit: null, faults };
  const store = await openStore({
    ...{ directory: join(folder, 'store'), isCommand: true, isRestored: true },
  }).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    throw invalidBackup(`${place}: the store cannot be opened: ${error.message}`, error);
  });
  try {
    const { accounts, keys, tasks, faults: sums } = await checkIntegrity(store.transfer.read());
    return { audit: { accounts, keys, tasks }, faults: [...faults, ...sums] };
  } finally {
    await store.close();
  }
}

/** Compares the sums of a database, and looks for the file of each of its records in a backup. */
async function auditDatabase(
  database: RestoredDatabase | null,
  files: readonly BackupFile[],
): Promise<Pick<RestoreReport, 'audit' | 'faults'>> {
  if (database === null) return { audit: null, faults: [] };
  const bytesOf = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const missing: string[] = [];
  async function* withFiles({ records, hasFiles }: RestoredDatabase) {
    for await (const record of records) {
      yield record;
      const own = record.kind === 'upload' ? [record.row] : [];
      for (const { id, bytes } of record.kind === 'task' ? record.assets : own) {
        const isThere = bytesOf.get(`assets/${subfolderOf(id)}/${id}`) === bytes;
        if (hasFiles && !isThere) missing.push(id);
      }
    }
  }
  const { accounts, keys, tasks, faults } = await checkIntegrity(withFiles(database));
  const lost =
    `the database has records of ${missing.length} files that the backup lacks, such as ${missing[0]}: ` +
    'the dump was made after the backup, or they were deleted between both';
  return {
    audit: { accounts, keys, tasks },
    faults: missing.length > 0 ? [...faults, lost] : faults,
  };
}
