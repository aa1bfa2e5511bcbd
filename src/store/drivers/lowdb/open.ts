import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { codedFailure, Failure } from '../../../failure.ts';
import {
  copyFolderDurably,
  diskFiles,
  type Files,
  makeFolder,
  namesIn,
  syncFolder,
} from '../../files.ts';
import type { Lock } from '../../lock.ts';
import { lockFolder } from '../../lock.ts';
import type { StoreOptions } from '../../options.ts';
import { RequestLog } from '../../requests/request-log.ts';
import type { Store } from '../../store.ts';
import type { Task } from '../../task.ts';
import { Archive } from './archive/archive.ts';
import { Checkpoint } from './checkpoint.ts';
import { JournalCompactor } from './compactor.ts';
import { lowdbStore } from './driver.ts';
import { corruptStore } from './files/errors.ts';
import { type Place, placeIn } from './files/place.ts';
import { CommitQueue } from './journal/commit-queue.ts';
import type { Journal } from './journal/journal.ts';
import { checksumOf, type Extent, isCurrentVersion, removeTail } from './journal/journal-file.ts';
import { Journals } from './journal/journals.ts';
import {
  type Clock,
  type Manifest,
  readManifest,
  VERSION,
  writeManifest,
} from './journal/manifest.ts';
import { type Replay, replayJournals } from './journal/replay.ts';
import { keysOf, TaskArchiver } from './records/archiver.ts';
import { LowdbDocuments } from './records/documents.ts';
import { recordsOf } from './records/records.ts';
import { RequestFolder } from './requests/request-folder.ts';
import { type Change, COLLECTIONS, type Collection, State } from './state/state.ts';

export interface LowdbOptions extends StoreOptions {
  /** Journal size at which its changes are moved to shards, in bytes; 16 MiB by default. */
  readonly journalLimit?: number;
  /** Size of all journals above which new work is rejected while checkpoints fail, in bytes; 256 MiB by default. */
  readonly backlogLimit?: number;
  readonly files?: Files;
}

/**
 * Opens the store in a directory, which no other process may use meanwhile.
 *
 * @throws Failure service_error: `store_locked`, `store_corrupt`, `store_unavailable`
 */
export async function openLowdbStore(options: LowdbOptions): Promise<Store> {
  const { directory, files = diskFiles, onLockFallback = () => {} } = options;
  let lock: Lock | undefined;
  try {
    await makeFolder(files, directory);
    lock = await lockFolder(files, directory, onLockFallback);
    return await openLocked(options, placeIn(files, directory), lock);
  } catch (error) {
    await lock?.release();
    throw error instanceof Failure ? error : cannotOpen(directory, error);
  }
}

/** Only the operator reads this message: unlike later failures of the store, it names the folder. */
function cannotOpen(directory: string, cause: unknown): Failure {
  const { message: reason = String(cause), code } = cause as NodeJS.ErrnoException;
  const remedy =
    code === 'EACCES' ? '; all of its files must belong to the user that runs this' : '';
  const message = `cannot open the store in ${directory}: ${reason}${remedy}`;
  return codedFailure('store_unavailable', message, { cause });
}

async function openLocked(options: LowdbOptions, place: Place, lock: Lock): Promise<Store> {
  const { journalLimit = 16 * 2 ** 20, backlogLimit = 2 ** 28 } = options;
  const { onFault = () => {}, now = Date.now } = options;
  const { files, directory } = place;
  const checkpoint = new Checkpoint(place);

  // Everything is read before anything is written: a corrupt store stays as it is.
  const known = await readManifest(place);
  const { state, found, newest, changes, last, closed } = await loadState(place, known, checkpoint);
  const stored = known ?? newManifest(last, now());
  const { store } = stored;
  const version = known?.version ?? (found || last ? 1 : VERSION);
  if (version !== VERSION) {
    // The program of that version cannot read what this one writes. The copy is the way back to it.
    const copy = `${directory}.version-${version}`;
    await copyFolderDurably(files, directory, copy, ['lock']);
    options.onUpgrade?.({ version, copy });
  }
  const archive = await Archive.open(checkpoint.segments, {
    ...{ files, folder: place.archive, store, keysOf, onFault },
    tombstones: state.tombstoneIndex,
  });
  try {
    const clock = checkClock(options, known?.clock, Math.max(newest, archive.newest));
    const manifest = { ...stored, clock };
    if (known?.clock.isHeld !== clock.isHeld) await writeManifest(place, manifest);
    await makeFolder(files, place.journals);
    await makeFolder(files, place.shards);
    const journals = new Journals({ place, manifest, now });
    const journal = await openJournal(journals, last, manifest, options);
    const archiver = new TaskArchiver(state, archive);
    const compactor = new JournalCompactor(
      {
        ...{ place, journals, checkpoint, state, archive, archiver },
        ...{ journalLimit, backlogLimit, onFault },
      },
      // The newest journal is closed too if another was started after it.
      last && journal.sequence > last.journal.sequence
        ? [...closed, { sequence: last.journal.sequence, length: last.length }]
        : closed,
      journal.length,
    );
    // Files that the checkpoint replaces may go only once its own name, and the journal's, are synced.
    await syncFolder(files, directory);
    await syncFolder(files, place.journals);
    await compactor.removeObsolete();
    const commits = new CommitQueue(state, journal, {
      afterBatch: (current) => compactor.afterBatch(current, commits),
      replaceJournal: (failed, first) => compactor.replaceJournal(failed, first),
      onFailure: options.onFailure ?? (() => {}),
      onCommit: options.onCommit,
    });
    for (const [collection, order] of changes) commits.markChanged(collection, order);
    if (options.tagSets !== undefined) state.tagSetLimit = options.tagSets;
    const records = recordsOf({
      ...{ bookedState: state, commits, archive, archiver, now, onCharge: options.onCharge },
      backlogFailure: () => compactor.backlogFailure(commits.journalLength),
    });
    const requests = new RequestLog(new RequestFolder(files, place.requests));
    const documents = new LowdbDocuments(records, place);
    if (options.isRestored) await documents.removeLost();
    const release = async () => {
      await requests.close().catch(onFault);
      await commits.close();
      const { pending } = records.charges;
      if (pending > 0)
        onFault(new Error(`the charges of ${pending} requests could not be written`));
      await compactor.close();
      await archive.close();
      // Without this the next start treats the journal as after a crash.
      await journals.writeExtent().catch(onFault);
      await lock.release();
    };
    return lowdbStore({ records, requests, documents, compactor, node: options.node, release });
  } catch (error) {
    await archive.close();
    throw error;
  }
}

interface LoadedStore extends Replay {
  readonly state: State;
  /** Whether there was a checkpoint. */
  readonly found: boolean;
  /** Time of the newest record, in milliseconds since the epoch; 0 without records. */
  readonly newest: number;
  /** Changes of the journals after the checkpoint. */
  readonly changes: readonly Change[];
}

/** @param known null for a new store, and for one of version 1 */
async function loadState(
  place: Place,
  known: Manifest | null,
  checkpoint: Checkpoint,
): Promise<LoadedStore> {
  const rows = new RowCollector();
  const found = await checkpoint.read(known, (change) => rows.put(change));
  const changes: Change[] = [];
  const history = await replayJournals({
    place,
    manifest: known,
    checkpoint: found ? checkpoint : null,
    take: (change) => {
      rows.put(change);
      changes.push(change);
    },
  });
  if (!found && history.last === null) await checkEmpty(place, known);
  const state = rows.state();
  for (const name of COLLECTIONS) state[name].reserve(checkpoint.next[name] ?? 0);
  const segments = new Set(checkpoint.segments.files.map(({ number }) => number));
  for (const [order, { segment }] of [...state.forgotten.rows]) {
    // A tombstone that was written while a checkpoint removed the segment.
    if (!segments.has(segment)) state.apply(['forgotten', order, null]);
  }
  return { ...history, state, found, newest: rows.newest, changes };
}

/** Without a checkpoint and journals, there must be nothing that belongs to them. */
async function checkEmpty(
  { files, directory, shards, archive }: Place,
  known: Manifest | null,
): Promise<void> {
  if ((await namesIn(files, shards)).length > 0) {
    throw corruptStore(join(directory, 'checkpoint.json'), 'missing, although there are shards');
  }
  if (!known && (await namesIn(files, archive)).length > 0) {
    throw corruptStore(join(directory, 'store.json'), 'missing, although there is an archive');
  }
}

/** @param last the newest journal of a version 1 store; null for a new store */
function newManifest(last: Replay['last'], now: number): Manifest {
  const clock = { at: now, isHeld: false };
  const journal = last
    ? { sequence: last.journal.sequence, ...extentOf(last) }
    : { sequence: 0, length: 0, checksum: 0, isFinal: false };
  // Creation time of a version 1 store is not known: 0 is before all of its records.
  return { store: randomUUID(), createdAt: last ? 0 : now, journal, clock };
}

function extentOf({ journal, length }: NonNullable<Replay['last']>): Extent {
  return { length, checksum: checksumOf(journal.bytes, length), isFinal: false };
}

/** Continues the newest journal, or starts one if there is none or it may not be continued. */
async function openJournal(
  journals: Journals,
  last: Replay['last'],
  manifest: Manifest,
  { files = diskFiles, onRecovery = () => {} }: LowdbOptions,
): Promise<Journal> {
  if (last === null) return journals.next(null);
  const { journal, length } = last;
  const recovery = await removeTail(files, journal, length);
  if (recovery) onRecovery(recovery);
  const { sequence, header } = journal;
  const isFinal = manifest.journal.sequence === sequence && manifest.journal.isFinal;
  if (isCurrentVersion(header) && !isFinal) return journals.resume(journal, last);
  return journals.next({ sequence, extent: { ...extentOf(last), isFinal } });
}

/** Maximum of the clock ahead of the newest record, in milliseconds. */
const DAY = 86_400_000;

/** Compares the clock with the newest known time. @param newest time of the newest record; 0 without records */
function checkClock(
  { now = Date.now, acceptClock = false, onClockAhead = () => {} }: LowdbOptions,
  known: Clock | undefined,
  newest: number,
): Clock {
  const present = now();
  // Records that were created while the clock was not trusted do not confirm it.
  const at = known?.isHeld ? known.at : Math.max(known?.at ?? 0, newest);
  if (acceptClock || at === 0 || present <= at + DAY) return { at: present, isHeld: false };
  onClockAhead({ now: present, newest: at });
  return { at, isHeld: true };
}

/** Adds the fields that version 1 did not write to tasks. */
function withDefaults(task: Task): Task {
  return task.progress === undefined ? { ...task, callbackUrl: null, progress: null } : task;
}

/** Time at which a record was created or last changed. */
function timeOf([, , row]: Change): number {
  if (row === null || 'day' in row || 'segment' in row || 'period' in row) return 0;
  if ('at' in row) return row.at;
  return 'updatedAt' in row ? row.updatedAt : row.createdAt;
}

/** Collects rows as they are read. Of several rows with the same order the last is valid. */
class RowCollector {
  /** Time of the newest record, in milliseconds since the epoch; 0 without records. */
  newest = 0;
  readonly #collections = new Map<Collection, Map<number, Change>>(
    COLLECTIONS.map((name) => [name, new Map()]),
  );

  put(change: Change): void {
    const [collection, order, row] = change;
    const rows = this.#collections.get(collection)!;
    if (row === null) rows.delete(order);
    else rows.set(order, collection === 'tasks' ? [collection, order, withDefaults(row)] : change);
  }

  /** The resulting state, with its rows in the order of creation. */
  state(): State {
    const state = new State();
    for (const rows of this.#collections.values()) {
      const changes = [...rows.values()].sort((one, other) => one[1] - other[1]);
      for (const change of changes) {
        state.apply(change);
        this.newest = Math.max(this.newest, timeOf(change));
      }
    }
    return state;
  }
}
