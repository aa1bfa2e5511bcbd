import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { diskFiles, type Files, makeFolder, namesIn, syncFolder } from '../files.ts';
import type { StoreOptions } from '../options.ts';
import type { Store } from '../store.ts';
import type { Task } from '../task.ts';
import { Archive } from './archive/archive.ts';
import { Checkpoint } from './checkpoint.ts';
import { Commits } from './commits.ts';
import { Driver } from './driver.ts';
import { Ended } from './ended.ts';
import { corrupt } from './faults.ts';
import { checksumOf, cutTail, type Extent, type Journal } from './journal.ts';
import { type History, Journals, readHistory } from './journals.ts';
import { lockFolder } from './lock.ts';
import { type Clock, type Manifest, readManifest, writeManifest } from './manifest.ts';
import type { Lock } from './pid-lock.ts';
import { Records } from './records.ts';
import { type Change, COLLECTIONS, type Collection, State } from './state.ts';
import { Upkeep } from './upkeep.ts';

export interface LowdbOptions extends StoreOptions {
  /** Journal size at which its changes are moved to shards, in bytes; 16 MiB by default. */
  readonly journalLimit?: number;
  /** Size of all journals above which new work is refused while checkpoints fail, in bytes; 256 MiB by default. */
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
  let held: Lock | undefined;
  try {
    await makeFolder(files, directory);
    held = await lockFolder(files, directory, onLockFallback);
    return await openLocked(options, files, held);
  } catch (error) {
    await held?.release();
    throw error instanceof Failure ? error : cannotOpen(directory, error);
  }
}

/** Read by the operator alone: unlike later failures of the store, it names the file. */
function cannotOpen(directory: string, cause: unknown): Failure {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Failure('service_error', `cannot open the store in ${directory}: ${reason}`, {
    code: 'store_unavailable',
    cause,
  });
}

async function openLocked(options: LowdbOptions, files: Files, held: Lock): Promise<Store> {
  const { directory, journalLimit = 16 * 2 ** 20, backlogLimit = 2 ** 28 } = options;
  const { onFault = () => {}, now = Date.now } = options;
  const { journals: folder, shards: shardFolder, archive: archiveFolder } = foldersIn(directory);
  const checkpoint = new Checkpoint(files, directory, shardFolder);

  // First everything is read: where something is wrong, nothing has been touched.
  const known = await readManifest(files, directory);
  const { state, newest, changes, last, closed } = await readAll(
    files,
    directory,
    known,
    checkpoint,
  );
  const former = known ?? newManifest(last, now());
  const archive = await Archive.open(checkpoint.segments, {
    files,
    folder: archiveFolder,
    store: former.store,
    forgotten: state.forgottenIn,
    onFault,
  });
  try {
    const clock = judgeClock(options, known?.clock, Math.max(newest, archive.newest));

    const manifest = { ...former, clock };
    if (known === null || known.clock.isHeld !== clock.isHeld) {
      await writeManifest(files, directory, manifest);
    }
    await makeFolder(files, folder);
    await makeFolder(files, shardFolder);
    const journals = new Journals({ files, directory, folder, manifest, now });
    const journal = await openJournal(journals, last, manifest, options);
    const ended = new Ended(state, archive);
    const upkeep = new Upkeep(
      {
        files,
        journals,
        journalFolder: folder,
        shardFolder,
        checkpoint,
        state,
        archive,
        ended,
        journalLimit,
        backlogLimit,
        onFault,
      },
      // The newest is among them where another was begun after it.
      last && journal.sequence > last.journal.sequence
        ? [...closed, { sequence: last.journal.sequence, length: last.length }]
        : closed,
      journal.length,
    );
    // What the checkpoint replaces may go only once its own name, and the journal's, outlast a power cut.
    await syncFolder(files, directory);
    await syncFolder(files, folder);
    await upkeep.tidy();
    const commits = new Commits(state, journal, {
      between: (current) => upkeep.between(current, commits),
      renew: (failed, first) => upkeep.renew(failed, first),
      onFailure: options.onFailure ?? (() => {}),
      onCommit: options.onCommit,
    });
    for (const [collection, order] of changes) commits.markChanged(collection, order);
    const records = new Records({ state, commits, archive, ended, now });
    return new Driver(records, upkeep, async () => {
      await commits.close();
      const { pending } = records.charges;
      if (pending > 0)
        onFault(new Error(`the charges of ${pending} requests could not be written`));
      await upkeep.close();
      await archive.close();
      // Without this mark the store opens as after a crash.
      await journals.mark().catch(onFault);
      await held.release();
    });
  } catch (error) {
    await archive.close();
    throw error;
  }
}

function foldersIn(directory: string) {
  return {
    journals: join(directory, 'journal'),
    shards: join(directory, 'shards'),
    archive: join(directory, 'archive'),
  };
}

interface Stored extends History {
  readonly state: State;
  /** Time of the newest record, in milliseconds since the epoch; 0 where there is none. */
  readonly newest: number;
  /** What the journals hold beyond the checkpoint. */
  readonly changes: readonly Change[];
}

/** @param known null for a new store, and one of the version before */
async function readAll(
  files: Files,
  directory: string,
  known: Manifest | null,
  checkpoint: Checkpoint,
): Promise<Stored> {
  const folders = foldersIn(directory);
  const rows = new Rows();
  const found = await checkpoint.read(known, (change) => rows.put(change));
  const changes: Change[] = [];
  const history = await readHistory({
    files,
    directory,
    folder: folders.journals,
    manifest: known,
    checkpoint: found ? checkpoint : null,
    take: (change) => {
      rows.put(change);
      changes.push(change);
    },
  });
  if (!found && history.last === null && (await namesIn(files, folders.shards)).length > 0) {
    throw corrupt(join(directory, 'checkpoint.json'), 'missing, although there are shards');
  }
  const state = rows.state();
  for (const name of COLLECTIONS) state[name].reserve(checkpoint.next[name] ?? 0);
  const segments = new Set(checkpoint.segments.files.map(({ number }) => number));
  for (const [order, { segment }] of [...state.forgotten.rows]) {
    // Written while a checkpoint took the segment away.
    if (!segments.has(segment)) state.apply(['forgotten', order, null]);
  }
  return { ...history, state, newest: rows.newest, changes };
}

/** @param last the newest journal of a store of the version before; null for a new store */
function newManifest(last: History['last'], now: number): Manifest {
  const clock = { at: now, isHeld: false };
  const journal = last
    ? { sequence: last.journal.sequence, ...extentIn(last) }
    : { sequence: 0, length: 0, checksum: 0, isFinal: false };
  // A store of the version before knows all that was made before it had an identity.
  return { store: randomUUID(), createdAt: last ? 0 : now, journal, clock };
}

function extentIn({ journal, length }: NonNullable<History['last']>): Extent {
  return { length, checksum: checksumOf(journal.bytes, length), isFinal: false };
}

/** Goes on with the newest journal, or begins one where there is none that may be gone on with. */
async function openJournal(
  journals: Journals,
  last: History['last'],
  manifest: Manifest,
  { files = diskFiles, onRecovery = () => {} }: LowdbOptions,
): Promise<Journal> {
  if (last === null) return journals.next(null);
  const { journal, length } = last;
  const recovery = await cutTail(files, journal, length);
  if (recovery) onRecovery(recovery);
  const { sequence, header } = journal;
  const isFinal = manifest.journal.sequence === sequence && manifest.journal.isFinal;
  if (header.store !== undefined && !isFinal) return journals.resume(journal, length);
  return journals.next({ sequence, extent: { ...extentIn(last), isFinal } });
}

/** How far the clock may be ahead of the newest record, in milliseconds. */
const DAY = 86_400_000;

/** Compares the clock with the newest time that the store knows. @param newest of all records; 0 for none */
function judgeClock(
  { now = Date.now, acceptClock = false, onClockAhead = () => {} }: LowdbOptions,
  known: Clock | undefined,
  newest: number,
): Clock {
  const present = now();
  // Records that were made while the clock was in doubt tell nothing.
  const at = known?.isHeld ? known.at : Math.max(known?.at ?? 0, newest);
  if (acceptClock || at === 0 || present <= at + DAY) return { at: present, isHeld: false };
  onClockAhead({ now: present, newest: at });
  return { at, isHeld: true };
}

/** A task with what tasks did not have when the version before wrote it. */
function whole(task: Task): Task {
  return task.progress === undefined ? { ...task, callbackUrl: null, progress: null } : task;
}

/** When a record was made or changed last. */
function timeOf([, , row]: Change): number {
  if (row === null || 'day' in row || 'segment' in row) return 0;
  if ('at' in row) return row.at;
  return 'updatedAt' in row ? row.updatedAt : row.createdAt;
}

/** Rows as they are read: in any order, the last one counts. */
class Rows {
  /** Time of the newest record, in milliseconds since the epoch; 0 where there is none. */
  newest = 0;
  readonly #collections = new Map<Collection, Map<number, Change>>(
    COLLECTIONS.map((name) => [name, new Map()]),
  );

  put(change: Change): void {
    const [collection, order, row] = change;
    const rows = this.#collections.get(collection)!;
    if (row === null) rows.delete(order);
    else rows.set(order, collection === 'tasks' ? [collection, order, whole(row)] : change);
  }

  /** What came out of it, in the order of creation. */
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
