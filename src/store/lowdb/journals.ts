import { join } from 'node:path';
import { type Files, namesIn } from '../files.ts';
import type { Checkpoint } from './checkpoint.ts';
import { corrupt } from './faults.ts';
import {
  type ClosedJournal,
  checksumOf,
  type Extent,
  Journal,
  type JournalContent,
  type JournalFile,
  journalName,
  loadJournal,
  readBatches,
  sequenceOf,
} from './journal.ts';
import { checkStore, type Manifest, STORE_FILE, writeManifest } from './manifest.ts';
import type { Change } from './state.ts';

/** The journals behind a checkpoint. */
export interface History {
  /** The newest that was in use, as it was read; null for a new store. */
  readonly last: (JournalContent & { readonly journal: JournalFile }) | null;
  /** Those before it. */
  readonly closed: readonly ClosedJournal[];
}

interface HistoryOptions {
  readonly files: Files;
  readonly directory: string;
  readonly folder: string;
  readonly manifest: Manifest | null;
  /** Null where there is none. */
  readonly checkpoint: Checkpoint | null;
  readonly take: (change: Change) => void;
}

/**
 * Reads the journals that a checkpoint does not cover, oldest first, and checks that they are one
 * unbroken chain of this store: each tells what the one before it held.
 *
 * @throws Failure service_error, code `store_corrupt`, naming the file that is missing or not as written
 */
export async function readHistory(options: HistoryOptions): Promise<History> {
  const { files, directory, folder, manifest, checkpoint, take } = options;
  const sequences = await sequencesIn(options);
  const closed: ClosedJournal[] = [];
  let current = sequences.length > 0 ? await loadJournal(files, folder, sequences[0]!) : null;
  if (current) checkBeginning(current, checkpoint);
  while (current) {
    const { file, sequence, header } = current;
    if (header.store !== undefined) checkStore(manifest, directory, file, header.store);
    const mark = manifest?.journal.sequence === sequence ? manifest.journal : null;
    const next: JournalFile | null =
      sequence < sequences.at(-1)! ? await loadJournal(files, folder, sequence + 1) : null;
    const isLast = next === null || wasNeverUsed(current, next, sequences.at(-1)!);
    const previous = isLast ? null : next.header.previous;
    const content = readBatches(current, (isLast && mark?.isFinal ? mark : previous)?.length);
    for (const change of content.changes) take(change);
    if (mark) checkExtent(current, content.length, mark, STORE_FILE);
    // A journal is in the manifest before it is used, but for the batch that one after a failure has
    // from the first moment.
    const isUsed = content.length > current.start && !header.previous?.isFinal;
    if (manifest && manifest.journal.sequence < sequence && isUsed) {
      const what = `names journal ${manifest.journal.sequence} as the newest, but ${journalName(sequence)} is in use`;
      throw corrupt(join(directory, STORE_FILE), `${what}: files of two backups are mixed`);
    }
    if (isLast) return { last: { ...content, journal: current }, closed };
    if (previous) {
      checkExtent(current, content.length, previous, journalName(next.sequence));
    } else if (content.length < current.bytes.length) {
      throw corrupt(file, 'a damaged batch lies before others', content.length);
    }
    closed.push({ sequence, length: content.length });
    current = next;
  }
  return { last: null, closed };
}

/** The journals to replay, oldest first, without a gap. */
async function sequencesIn(options: HistoryOptions): Promise<number[]> {
  const { files, directory, folder, manifest, checkpoint } = options;
  const first = checkpoint?.journal ?? 1;
  const all = (await namesIn(files, folder))
    .map(sequenceOf)
    .filter((sequence) => sequence !== null && sequence >= first) as number[];
  if (checkpoint === null && all.length > 0 && all[0] !== 1) {
    const what = `missing, although ${journalName(all[0]!)} continues one`;
    throw corrupt(join(directory, 'checkpoint.json'), what);
  }
  const newest = Math.max(all.at(-1) ?? 0, manifest?.journal.sequence ?? 0, checkpoint ? first : 0);
  for (let sequence = first; sequence <= newest; sequence += 1) {
    if (all[sequence - first] === sequence) continue;
    throw corrupt(join(folder, journalName(sequence)), 'this journal is missing');
  }
  return all;
}

function checkBeginning({ file, header }: JournalFile, checkpoint: Checkpoint | null): void {
  const before = checkpoint === null ? null : checkpoint.previous;
  if (before === undefined || header.previous === undefined) return;
  if (header.previous?.checksum === before?.checksum) return;
  throw corrupt(file, 'it does not continue the checkpoint: files of two backups are mixed');
}

/**
 * @param read where the last whole batch ends
 * @param by the file that tells what the journal held
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
        ? `it ends here, but held ${length} bytes according to ${by}: it is cut off, or of an older backup`
        : 'a batch that was on disk is damaged';
    throw corrupt(file, what, read);
  }
  if (checksumOf(bytes, length) === checksum) return;
  throw corrupt(file, `its first ${length} bytes are not those that ${by} tells of`);
}

/**
 * Whether a journal was begun but the one before it went on: its name could not be made durable, or
 * the process died first.
 */
function wasNeverUsed(before: JournalFile, next: JournalFile, newest: number): boolean {
  if (next.sequence !== newest || next.start < next.bytes.length) return false;
  const { previous } = next.header;
  return !previous || (!previous.isFinal && before.bytes.length > previous.length);
}

interface JournalsOptions {
  readonly files: Files;
  readonly directory: string;
  readonly folder: string;
  readonly manifest: Manifest;
  readonly now: () => number;
}

/** The journal in use, and the manifest that tells of it. */
export class Journals {
  readonly #options: JournalsOptions;
  #manifest: Manifest;
  #current: Journal | null = null;

  constructor(options: JournalsOptions) {
    this.#options = options;
    this.#manifest = options.manifest;
  }

  /** Goes on with a journal that was read, whose tail is cut. */
  async resume(journal: JournalFile, length: number): Promise<Journal> {
    this.#current = await Journal.resume(this.#options.files, journal, length);
    await this.mark();
    return this.#current;
  }

  /**
   * Begins the journal after another. Where this fails, the other one may be gone on with.
   *
   * @param before null for the first
   */
  async next(before: Pick<Journal, 'sequence' | 'extent'> | null): Promise<Journal> {
    return this.#begin((before?.sequence ?? 0) + 1, before?.extent ?? null, null);
  }

  /**
   * Begins the journal after one that failed, of which only what was synced counts.
   *
   * @param first a batch that it has from the first moment
   */
  async renew(failed: Journal, first: string | null): Promise<Journal> {
    return this.#begin(failed.sequence + 1, { ...failed.extent, isFinal: true }, first);
  }

  async #begin(sequence: number, previous: Extent | null, first: string | null): Promise<Journal> {
    const { files, folder } = this.#options;
    // Nothing is written into a folder that was put in the place of this store's.
    this.#current?.checkPlace();
    const identity = { store: this.#manifest.store, previous };
    const journal = await Journal.create(files, folder, sequence, identity, first);
    try {
      await this.#write(journal);
    } catch (error) {
      await journal.close();
      throw error;
    }
    this.#current = journal;
    return journal;
  }

  /** Writes the extent of the current journal to the manifest, so that damage within it is not taken for a torn write. */
  async mark(): Promise<void> {
    const { length, checksum, isFinal } = this.#current!.extent;
    const { journal } = this.#manifest;
    const isSame =
      journal.sequence === this.#current!.sequence &&
      journal.length === length &&
      journal.checksum === checksum &&
      journal.isFinal === isFinal;
    if (isSame) return;
    this.#current!.checkPlace();
    await this.#write(this.#current!);
  }

  async #write({ sequence, extent }: Journal): Promise<void> {
    const { files, directory, now } = this.#options;
    const { clock } = this.#manifest;
    const manifest = {
      ...this.#manifest,
      journal: { sequence, ...extent },
      clock: clock.isHeld ? clock : { at: now(), isHeld: false },
    };
    await writeManifest(files, directory, manifest);
    this.#manifest = manifest;
  }
}
