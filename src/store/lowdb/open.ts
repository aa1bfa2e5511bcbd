import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { diskFiles, type Files, makeFolder, namesIn } from '../files.ts';
import type { Store } from '../store.ts';
import type { Task } from '../task.ts';
import { Checkpoint } from './checkpoint.ts';
import { type Commit, Commits } from './commits.ts';
import { Driver } from './driver.ts';
import { corrupt, unavailable } from './faults.ts';
import {
  cutJournal,
  endBefore,
  Journal,
  journalName,
  type Recovery,
  readJournal,
  sequenceOf,
} from './journal.ts';
import { type Lock, lock } from './lock.ts';
import { Records } from './records.ts';
import { type Change, COLLECTIONS, type Collection, State } from './state.ts';
import { type ClosedJournal, Upkeep } from './upkeep.ts';

export interface StoreOptions {
  /** Where everything is kept; made where it does not exist. */
  readonly directory: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Bytes after which a journal goes into shards; 16 MiB. */
  readonly journalLimit?: number;
  /** Bytes of journals that may wait for a checkpoint that fails before new work is refused; 256 MiB. */
  readonly backlogLimit?: number;
  readonly files?: Files;
  /** Called with what a crash left half written, before the store is open. */
  readonly onRecovery?: (recovery: Recovery) => void;
  /** Called with every write to the journal. */
  readonly onCommit?: (commit: Commit) => void;
  /** Called with what went wrong in the background; the store goes on and tries again later. */
  readonly onFault?: (error: unknown) => void;
  /** Called when writes begin to fail, and with null when they succeed again. */
  readonly onFailure?: (failure: Failure | null) => void;
}

/**
 * Opens the store in a directory, which no other process may use meanwhile.
 *
 * @throws Failure service_error: `store_locked`, `store_corrupt`, `store_unavailable`
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { directory, files = diskFiles } = options;
  let held: Lock | undefined;
  try {
    await makeFolder(files, directory);
    held = await lock(files, join(directory, 'lock'));
    return await openLocked(options, files, held);
  } catch (error) {
    await held?.release();
    throw error instanceof Failure ? error : unavailable(error);
  }
}

async function openLocked(options: StoreOptions, files: Files, held: Lock): Promise<Store> {
  const { directory, journalLimit = 16 * 2 ** 20, backlogLimit = 2 ** 28 } = options;
  const { onFault = () => {} } = options;
  const journalFolder = join(directory, 'journal');
  const shardFolder = join(directory, 'shards');
  const checkpoint = new Checkpoint(files, directory, shardFolder);

  // First everything is read: where something is wrong, nothing has been touched.
  const rows = new Rows();
  const found = await checkpoint.read((change) => rows.put(change));
  const sequences = await sequencesIn(files, journalFolder, found ? checkpoint.journal : null);
  if (sequences.length === 0 && (await namesIn(files, shardFolder)).length > 0) {
    throw corrupt(join(directory, 'checkpoint.json'), 'missing, although there are shards');
  }
  const replayed: Change[] = [];
  const journals: ClosedJournal[] = [];
  let length = 0;
  let torn: Recovery | null = null;
  for (const [at, sequence] of sequences.entries()) {
    const file = join(journalFolder, journalName(sequence));
    const after = sequences[at + 1];
    const end = after && (await endBefore(files, join(journalFolder, journalName(after))));
    const content = await readJournal(files, file, sequence, end ?? 'newest');
    for (const change of content.changes) {
      rows.put(change);
      replayed.push(change);
    }
    length = content.length;
    journals.push({ sequence, length });
    if (content.torn > 0) torn = { file, offset: length, dropped: content.torn };
  }
  const state = rows.state();

  await makeFolder(files, journalFolder);
  await makeFolder(files, shardFolder);
  if (torn) {
    await cutJournal(files, torn.file, torn.offset);
    options.onRecovery?.(torn);
  }
  const sequence = sequences.at(-1);
  const journal =
    sequence === undefined
      ? await firstJournal(files, journalFolder)
      : await Journal.resume(files, journalFolder, sequence, length);
  const upkeep = new Upkeep(
    { files, journalFolder, shardFolder, checkpoint, journalLimit, backlogLimit, onFault },
    journals.slice(0, -1),
    length,
  );
  await upkeep.tidy();
  const commits = new Commits(state, journal, {
    between: (current) => upkeep.between(current, commits),
    renew: (failed, first) => upkeep.renew(failed, first),
    onFailure: options.onFailure ?? (() => {}),
    onCommit: options.onCommit,
  });
  for (const [collection, order] of replayed) commits.markChanged(collection, order);
  const records = new Records(state, commits, options.now ?? Date.now);
  return new Driver(records, upkeep, async () => {
    await commits.close();
    const { pending } = records.charges;
    if (pending > 0) onFault(new Error(`the charges of ${pending} requests could not be written`));
    await upkeep.close();
    await held.release();
  });
}

async function firstJournal(files: Files, folder: string): Promise<Journal> {
  const journal = await Journal.prepare(files, folder, 1, null);
  try {
    await journal.publish();
    await journal.syncName();
    return journal;
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** The journals to replay, oldest first. @param first null where there is no checkpoint */
async function sequencesIn(files: Files, folder: string, first: number | null): Promise<number[]> {
  const all = (await namesIn(files, folder))
    .map(sequenceOf)
    .filter((sequence) => sequence !== null && sequence >= (first ?? 1)) as number[];
  if (all.length === 0 && first === null) return all;
  const expected = (at: number) => (first ?? 1) + at;
  const gap = all.findIndex((sequence, at) => sequence !== expected(at));
  if (gap !== -1 || all.length === 0) {
    throw corrupt(join(folder, journalName(expected(Math.max(0, gap)))), 'this journal is missing');
  }
  return all;
}

/** A task with what tasks did not have when the version before wrote it. */
function whole(task: Task): Task {
  return task.progress === undefined ? { ...task, callbackUrl: null, progress: null } : task;
}

/** Rows as they are read: in any order, the last one counts. */
class Rows {
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
      for (const change of changes) state.apply(change);
    }
    return state;
  }
}
