import { type BackupFile, MANIFEST, type Manifest, newManifest } from './manifest.ts';
import { type SourceOptions, sourceFiles } from './sources.ts';
import { contentOf, type Target } from './target.ts';

export interface BackupOptions extends SourceOptions {
  /** Version of the program. */
  readonly program: string;
  readonly name: string;
  readonly store: Manifest['store'];
  /** Backups to keep with the new one; all where not given. */
  readonly keep?: number | undefined;
  /** Ends the backup. */
  readonly signal?: AbortSignal;
}

export interface BackupReport {
  readonly name: string;
  readonly place: string;
  readonly files: number;
  readonly bytes: number;
  /** Files and bytes that were not in the former backup. */
  readonly copiedFiles: number;
  readonly copiedBytes: number;
  /** Names of backups that were removed. */
  readonly removed: readonly string[];
}

/**
 * Writes a backup, and then removes old ones. After a failure the former ones are as they were.
 *
 * @throws Failure `storage_unavailable` if the target takes nothing, `store_corrupt`
 */
export async function writeBackup(target: Target, options: BackupOptions): Promise<BackupReport> {
  const { name, program, store, keep, signal } = options;
  const { former, place } = target;
  const isSame = former?.store.driver === store.driver && former.store.id === store.id;
  const known = new Map((isSame ? former.files : []).map((file) => [file.path, file]));
  const files: BackupFile[] = [];
  const report = { files: 0, bytes: 0, copiedFiles: 0, copiedBytes: 0 };
  try {
    for await (const source of sourceFiles(options)) {
      const { path, bytes, handle, isImmutable } = source;
      const before = isImmutable ? known.get(path) : undefined;
      try {
        signal?.throwIfAborted();
        let file = before?.bytes === bytes ? await target.reuse(before) : null;
        if (file === null) {
          file = await target.copy({ path, bytes, chunks: () => contentOf(source) });
          report.copiedFiles += 1;
          report.copiedBytes += bytes;
        }
        files.push(file);
      } finally {
        await handle.close();
      }
      report.bytes += bytes;
    }
    const manifest = Buffer.from(JSON.stringify(newManifest({ name, program, store, files })));
    await target.copy({
      ...{ path: MANIFEST, bytes: manifest.length },
      chunks: async function* () {
        yield manifest;
      },
    });
    await target.finish();
  } catch (error) {
    await target.abort().catch(() => {});
    throw error;
  }
  const removed = keep === undefined ? [] : await target.prune(keep);
  return { name, place, ...report, files: files.length, removed };
}
