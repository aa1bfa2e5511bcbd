import { basename, join } from 'node:path';
import { type Files, makeFolder, missingAs, namesIn, remove } from '../../store/files.ts';
import type { TimeRange } from '../../store/health.ts';
import type { SweepResult } from '../storage/asset-storage.ts';
import { onDisk } from '../storage/errors.ts';
import {
  dayOf,
  isAssetId,
  isQuarantineOver,
  QUARANTINE,
  SUBFOLDER,
  subfolderOf,
} from '../storage/identifier.ts';

/** Suffix of a file that is still being written. */
export const UNFINISHED = '.new';

interface FolderSweep {
  /** Whether this process has written a file or is writing it. */
  readonly isOwn: (id: string) => boolean;
  readonly isKnown: (id: string) => Promise<boolean>;
  readonly span: TimeRange | null;
  /** Files that were changed later may be those that another process writes now. */
  readonly openedAt: number;
}

/** Removes unfinished files and moves files without a record to the quarantine. See `AssetStorage.sweep`. */
export async function sweepFolder(
  files: Files,
  root: string,
  { isOwn, isKnown, span, openedAt }: FolderSweep,
): Promise<SweepResult> {
  const swept = { removed: 0, quarantined: 0, foreign: 0 };
  for (const subfolder of await onDisk(() => namesIn(files, root))) {
    if (!SUBFOLDER.test(subfolder)) continue;
    const folder = join(root, subfolder);
    for (const name of await onDisk(() => namesIn(files, folder))) {
      const isWhole = !name.endsWith(UNFINISHED);
      const id = isWhole ? name : name.slice(0, -UNFINISHED.length);
      // Other names are not files of assets.
      if (!isAssetId(id) || subfolderOf(id) !== subfolder || isOwn(id)) continue;
      const path = join(folder, name);
      if (!isWhole) {
        if (await onDisk(() => isNewer(files, path, openedAt))) continue;
        await onDisk(() => remove(files, path));
        swept.removed += 1;
      } else if (!(await isKnown(id))) {
        const isMoved = await quarantine(files, root, path, span);
        swept[isMoved ? 'quarantined' : 'foreign'] += 1;
      }
    }
  }
  return swept;
}

async function isNewer(files: Files, path: string, time: number): Promise<boolean> {
  const found = await files.stat(path).catch(missingAs(null));
  // Its writer may have renamed it meanwhile.
  return found === null || found.mtimeMs > time;
}

/** Moves a file to the quarantine. Returns false if the file is outside the time range. */
async function quarantine(
  files: Files,
  root: string,
  path: string,
  span: TimeRange | null,
): Promise<boolean> {
  return onDisk(async () => {
    const { mtimeMs } = await files.stat(path);
    if (span === null || mtimeMs < span.from || mtimeMs > span.to) return false;
    const folder = join(root, QUARANTINE, dayOf(Date.now()));
    await makeFolder(files, folder);
    await files.rename(path, join(folder, basename(path)));
    return true;
  });
}

/** See `AssetStorage.emptyQuarantine`. */
export async function emptyQuarantine(files: Files, root: string, now: number): Promise<void> {
  const folders = join(root, QUARANTINE);
  await onDisk(async () => {
    for (const day of await namesIn(files, folders)) {
      if (!isQuarantineOver(day, now)) continue;
      const folder = join(folders, day);
      for (const name of await namesIn(files, folder)) await remove(files, join(folder, name));
      await files.rmdir(folder);
    }
  });
}
