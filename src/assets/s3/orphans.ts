import type { TimeRange } from '../../store/health.ts';
import type { SweepResult } from '../storage/asset-storage.ts';
import {
  dayOf,
  isAssetId,
  isQuarantineOver,
  QUARANTINE,
  subfolderOf,
} from '../storage/identifier.ts';
import type { Bucket } from './bucket.ts';
import type { ListedObject } from './xml.ts';

/**
 * Milliseconds for which an object is not taken for an orphan: its record is written after it, perhaps
 * by another node.
 */
const MIN_AGE_MS = 86_400_000;

/** Records that are looked up at once. */
const LOOKUPS = 16;

interface BucketSweep {
  readonly isKnown: (id: string) => Promise<boolean>;
  /** Time range of the records before this process started. */
  readonly span: TimeRange | null;
  readonly startedAt: number;
  readonly now: number;
  /** Asked before each page. */
  readonly mayGoOn: () => boolean;
}

/** Moves objects without a record to the quarantine. See `AssetStorage.sweep`. */
export async function sweepBucket(
  bucket: Bucket,
  prefix: string,
  { isKnown, span, startedAt, now, mayGoOn }: BucketSweep,
): Promise<SweepResult> {
  const swept = { removed: 0, quarantined: 0, foreign: 0 };
  const isForeign = ({ modifiedAt }: ListedObject) =>
    span === null || modifiedAt < span.from || (modifiedAt > span.to && modifiedAt < startedAt);
  for await (const page of bucket.list(prefix)) {
    if (!mayGoOn()) break;
    const candidates = page.filter(
      // Other keys are not files of assets.
      ({ key, modifiedAt }) => idOf(key, prefix) !== null && modifiedAt < now - MIN_AGE_MS,
    );
    for (let from = 0; from < candidates.length; from += LOOKUPS) {
      const some = candidates.slice(from, from + LOOKUPS);
      const known = await Promise.all(some.map(({ key }) => isKnown(idOf(key, prefix)!)));
      const orphans = some.filter((_, index) => !known[index]);
      for (const orphan of orphans) {
        if (isForeign(orphan)) swept.foreign += 1;
        else if (await quarantine(bucket, prefix, orphan.key)) swept.quarantined += 1;
      }
    }
  }
  return swept;
}

function idOf(key: string, prefix: string): string | null {
  const [folder, id = '', ...rest] = key.slice(prefix.length).split('/');
  return rest.length === 0 && isAssetId(id) && subfolderOf(id) === folder ? id : null;
}

/** @returns false if the object is gone */
async function quarantine(bucket: Bucket, prefix: string, key: string): Promise<boolean> {
  const id = idOf(key, prefix)!;
  const isCopied = await bucket.copy(key, `${prefix}${QUARANTINE}/${dayOf(Date.now())}/${id}`);
  await bucket.delete([key]);
  return isCopied;
}

/** See `AssetStorage.emptyQuarantine`. */
export async function emptyBucketQuarantine(
  bucket: Bucket,
  prefix: string,
  now: number,
): Promise<void> {
  const folder = `${prefix}${QUARANTINE}/`;
  for await (const page of bucket.list(folder)) {
    const keys = page
      .map(({ key }) => key)
      .filter((key) => isQuarantineOver(key.slice(folder.length).split('/', 1)[0]!, now));
    await bucket.delete(keys);
  }
}
