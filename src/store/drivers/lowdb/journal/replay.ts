import { join } from 'node:path';
import { namesIn } from '../../../files.ts';
import { corruptStore } from '../files/errors.ts';
import type { Place } from '../files/place.ts';
import type { Change } from '../state/state.ts';
import {
  type ClosedJournal,
  checksumOf,
  type Extent,
  type JournalContent,
  type JournalFile,
  journalName,
  loadJournal,
  readBatches,
  sequenceOf,
} from './journal-file.ts';
import { checkStoreId, type Manifest, STORE_FILE } from './manifest.ts';

/** The journals after a checkpoint. */
export interface Replay {
  /** The newest journal that was in use; null for a new store. */
  readonly last: (JournalContent & { readonly journal: JournalFile }) | null;
  /** Journals before it. */
  readonly closed: readonly ClosedJournal[];
}

/** Fields of a checkpoint that say which journals follow it. */
interface ReplayStart {
  /** Number of the first journal whose changes the checkpoint does not have. */
  readonly journal: number;
  /** Extent of the journal before it; undefined if the checkpoint does not say. */
  readonly previous: Extent | null | undefined;
}

interface ReplayOptions {
  readonly place: Place;
  readonly manifest: Manifest | null;
  /** Null without a checkpoint. */
  readonly checkpoint: ReplayStart | null;
  readonly take: (change: Change) => void;
}

/**
 * Reads the journals after a checkpoint, oldest first, and checks that they are one unbroken chain of
 * this store: each states the extent of the one before it.
 *
 * @throws Failure service_error, code `store_corrupt`, with the file that is missing or differs
 */
export async function replayJournals(options: ReplayOptions): Promise<Replay> {
  const { place, manifest, checkpoint, take } = options;
  const { files, directory, journals: folder } = place;
  const sequences = await sequencesIn(options);
  const closed: ClosedJournal[] = [];
  let current = sequences.length > 0 ? await loadJournal(files, folder, sequences[0]!) : null;
  if (current) checkContinuity(current, checkpoint);
  while (current) {
    const { file, sequence, header } = current;
    if (header.store !== undefined) checkStoreId(manifest, directory, file, header.store);
    const manifestExtent = manifest?.journal.sequence === sequence ? manifest.journal : null;
    const next: JournalFile | null =
      sequence < sequences.at(-1)! ? await loadJournal(files, folder, sequence + 1) : null;
    const isLast = next === null || wasNeverUsed(current, next, sequences.at(-1)!);
    const previous = isLast ? null : next.header.previous;
    const content = readBatches(
      current,
      (isLast && manifestExtent?.isFinal ? manifestExtent : previous)?.length,
    );
    for (const change of content.changes) take(change);
    if (manifestExtent) checkExtent(current, content.length, manifestExtent, STORE_FILE);
    // A journal is in the manifest before it is used, except for the batch with which a journal after a
    // failure starts.
    const isUsed = content.length > current.start && !header.previous?.isFinal;
    if (manifest && manifest.journal.sequence < sequence && isUsed) {
      const what = `names journal ${manifest.journal.sequence} as the newest, but ${journalName(sequence)} is in use`;
      throw corruptStore(join(directory, STORE_FILE), `${what}: files of two backups are mixed`);
    }
    if (isLast) return { last: { ...content, journal: current }, closed };
    if (previous) {
      checkExtent(current, content.length, previous, journalName(next.sequence));
    } else if (content.length < current.bytes.length) {
      throw corruptStore(file, 'a damaged batch is followed by complete ones', content.length);
    }
    closed.push({ sequence, length: content.length });
    current = next;
  }
  return { last: null, closed };
}

/** Numbers of the journals to replay, oldest first, without a gap. */
async function sequencesIn(options: ReplayOptions): Promise<number[]> {
  const { place, manifest, checkpoint } = options;
  const { files, directory, journals: folder } = place;
  const first = checkpoint?.journal ?? 1;
  const all = (await namesIn(files, folder))
    .map(sequenceOf)
    .filter((sequence) => sequence !== null && sequence >= first) as number[];
  if (checkpoint === null && all.length > 0 && all[0] !== 1) {
    const what = `missing, although ${journalName(all[0]!)} continues one`;
    throw corruptStore(join(directory, 'checkpoint.json'), what);
  }
  const newest = Math.max(all.at(-1) ?? 0, manifest?.journal.sequence ?? 0, checkpoint ? first : 0);
  for (let sequence = first; sequence <= newest; sequence += 1) {
    if (all[sequence - first] === sequence) continue;
    throw corruptStore(join(folder, journalName(sequence)), 'this journal is missing');
  }
  return all;
}

function checkContinuity({ file, header }: JournalFile, checkpoint: ReplayStart | null): void {
  const before = checkpoint === null ? null : checkpoint.previous;
  if (before === undefined || header.previous === undefined) return;
  if (header.previous?.checksum === before?.checksum) return;
  throw corruptStore(file, 'it does not continue the checkpoint: files of two backups are mixed');
}

/**
 * @param read offset of the end of the last complete batch
 * @param by file that states the extent
 */
function checkExtent(
  { file, bytes }: JournalFile,
  read: number,
  { length, checksum }: Extent,
  by: string,
): void {
  if (read < length) {
    const what =
      bytes.length < length
        ? `it ends here, but had ${length} bytes according to ${by}: it was cut off, or is from an older backup`
        : 'a batch that was on disk is damaged';
    throw corruptStore(file, what, read);
  }
  if (checksumOf(bytes, length) === checksum) return;
  throw corruptStore(file, `its first ${length} bytes differ from those that ${by} states`);
}

/**
 * Whether a journal was started but the one before it stayed in use: the name of the new one could not be
 * synced, or the process ended first.
 */
function wasNeverUsed(before: JournalFile, next: JournalFile, newest: number): boolean {
  if (next.sequence !== newest || next.start < next.bytes.length) return false;
  const { previous } = next.header;
  return !previous || (!previous.isFinal && before.bytes.length > previous.length);
}
