import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { filesBelow } from '../../cli/folder.ts';
import { memoryFolder } from '../../oriel.ts';
import { everyTask, findInconsistencies } from '../consistency.ts';
import { hookedFiles, systemError, unsyncedFiles } from '../hooked-files.ts';
import { completionOf, owner, taskFor } from '../records.ts';
import { copyAsCrashed } from './crash-copy.ts';

/** So short that a checkpoint is made every few transactions. */
const journalLimit = 3000;

type Snapshot = ReadonlyMap<string, Buffer>;

function snapshotOf(directory: string): Snapshot {
  const names = filesBelow(directory).filter((name) => name !== 'lock');
  return new Map(names.map((name) => [name, readFileSync(join(directory, name))]));
}

function write(directory: string, files: Snapshot): void {
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), bytes);
  }
}

/** Uses a store. @returns identifiers of the tasks that were created */
async function use(store: Store, rounds: number): Promise<string[]> {
  const [account] = await store.listAccounts();
  const key = account ? (await store.listKeys())[0]! : (await owner(store, 1_000_000)).key;
  const made: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { task } = await store.createTask(taskFor(key, { reservation: 3 }));
    made.push(task.id);
    const claim = (await store.claimTask(task.id))!;
    await store.completeTask(claim, completionOf({ charge: 2 }));
  }
  return made;
}

function isEqual(one: Snapshot, other: Snapshot): boolean {
  return (
    one.size === other.size && [...one].every(([name, bytes]) => other.get(name)?.equals(bytes))
  );
}

interface Life {
  /** All states of the files, oldest first. */
  readonly snapshots: Snapshot[];
  readonly made: string[];
  /** Whether the store was closed: the newest journal of a crashed store may be torn. */
  readonly isClosed: boolean;
}

/** @param checkpoints whether the disk accepts checkpoints */
async function lifeOf({ isClosed, checkpoints }: { isClosed: boolean; checkpoints: boolean }) {
  const directory = memoryFolder();
  const life: Life = { snapshots: [], made: [], isClosed };
  let isLate = false;
  const files = hookedFiles((operation, path) => {
    if (operation === 'rename') life.snapshots.push(snapshotOf(directory));
    const fails = isLate && !checkpoints && operation === 'writeFile' && path.includes('shards');
    if (fails) throw systemError('ENOSPC');
  });
  for (let start = 0; start < 3; start += 1) {
    isLate = start > 0;
    const store = await openLowdbStore({ directory, journalLimit, files });
    life.made.push(...(await use(store, 8)));
    if (start === 2 && !isClosed) life.snapshots.push(snapshotOf(copyAsCrashed(directory)));
    await store.close();
    if (start < 2 || isClosed) life.snapshots.push(snapshotOf(directory));
  }
  return life;
}

/** Faults of one file: its name and its content. Null removes the file. */
function* faultsOf(
  name: string,
  { snapshots, isClosed }: Life,
): Generator<[string, Buffer | null]> {
  const now = snapshots.at(-1)!;
  const bytes = now.get(name)!;
  yield ['is removed', null];
  yield ['is empty', Buffer.alloc(0)];
  for (const content of ['mine', 'null', '{}', '[]', '{"version":2}']) {
    yield [`is ${content}`, Buffer.from(content)];
  }
  // The end of the newest journal of a crashed store looks like a torn write.
  const newest = [...now.keys()].filter((other) => other.endsWith('.journal')).at(-1);
  const mayBeTorn = !isClosed && name === newest;
  const end = mayBeTorn ? bytes.indexOf(10) : bytes.length;
  for (const part of [0.03, 0.5, 0.97]) {
    const at = Math.floor(end * part);
    if (!mayBeTorn) yield [`is cut at ${at}`, bytes.subarray(0, at)];
    const flipped = Buffer.from(bytes);
    flipped[at]! ^= 0x02;
    yield [`has a bad bit at ${at}`, flipped];
  }
  if (!mayBeTorn) {
    yield ['lacks its last two bytes', bytes.subarray(0, -2)];
    const older = new Map<string, Buffer>();
    for (const snapshot of snapshots) {
      const then = snapshot.get(name);
      if (then && !then.equals(bytes)) older.set(then.toString('base64'), then);
    }
    for (const [at, then] of [...older.values()].entries()) {
      if (at % 5 === 0) yield [`is older, ${at}`, then];
    }
  }
}

const lives = [
  ['with a checkpoint, closed', { isClosed: true, checkpoints: true }],
  ['with a checkpoint, crashed', { isClosed: false, checkpoints: true }],
  ['with many journals, closed', { isClosed: true, checkpoints: false }],
  ['with many journals, crashed', { isClosed: false, checkpoints: false }],
] as const;

describe('a store with one damaged file', () => {
  it.each(lives)(
    '%s, opens with all records or names the file',
    {
      timeout: 300_000,
    },
    async (_, how) => {
      const life = await lifeOf(how);
      const now = life.snapshots.at(-1)!;
      let cases = 0;
      const outcomes: string[] = [];
      const names = [...now.keys()];
      const between = names.filter((name) => name.endsWith('.journal')).slice(1, -2);
      for (const [place, name] of names.entries()) {
        for (const [at, [what, bytes]] of [...faultsOf(name, life)].entries()) {
          // Journals between others share the faults.
          if (between.includes(name) && at % 4 !== place % 4) continue;
          cases += 1;
          const directory = memoryFolder();
          const files = new Map(now);
          files.delete(name);
          write(directory, bytes === null ? files : files.set(name, bytes));
          const reported: string[] = [];
          const onFault = (error: unknown) => reported.push((error as Error).message);
          let store: Store | undefined;
          try {
            store = await openLowdbStore({
              directory,
              journalLimit,
              files: unsyncedFiles,
              onFault,
            });
            const known = new Set((await everyTask(store)).map(({ id }) => id));
            const lost = life.made.filter((id) => !known.has(id)).length;
            const faults = await findInconsistencies(store);
            if (lost + faults.length > 0) outcomes.push(`${name} ${what}: ${lost} lost, ${faults}`);
          } catch (error) {
            const { message } = error as Error;
            const left = snapshotOf(directory);
            if (!store && !isEqual(left, files))
              outcomes.push(`${name} ${what}: files were changed`);
            // In the failure at the start, or in a fault when a record is read.
            const isNamed = [message, ...reported].some((text) => text.includes(basename(name)));
            if (!isNamed) outcomes.push(`${name} ${what}: ${message}`);
          } finally {
            await store?.close();
          }
          rmSync(directory, { recursive: true });
        }
      }
      expect(outcomes).toEqual([]);
      expect(cases).toBeGreaterThan(50);
    },
  );
});

describe('a backup', () => {
  it('copied over a newer store opens as it was, or is rejected', {
    timeout: 300_000,
  }, async () => {
    const { snapshots } = await lifeOf({ isClosed: true, checkpoints: true });
    const newer = snapshots.at(-1)!;
    const outcomes = { rejected: 0, restored: 0 };
    const backups = snapshots.slice(0, -1).filter((files) => files.has('store.json'));
    for (const backup of backups.filter((_, at) => at % 3 === 0)) {
      const alone = memoryFolder();
      write(alone, backup);
      const restored = await openLowdbStore({ directory: alone, files: unsyncedFiles });
      const tasks = await everyTask(restored);
      await restored.close();
      const mixed = memoryFolder();
      write(mixed, newer);
      write(mixed, backup);
      try {
        const store = await openLowdbStore({ directory: mixed, files: unsyncedFiles });
        expect(await everyTask(store)).toEqual(tasks);
        await store.close();
        outcomes.restored += 1;
      } catch (error) {
        expect(error).toMatchObject({ code: 'store_corrupt' });
        outcomes.rejected += 1;
      }
    }
    expect(outcomes.rejected).toBeGreaterThan(5);
  });

  it('with a file of another store is rejected, or ignores the file', async () => {
    const [one, other] = [memoryFolder(), memoryFolder()];
    let tasks: Awaited<ReturnType<typeof everyTask>> = [];
    for (const directory of [other, one]) {
      const store = await openLowdbStore({ directory, journalLimit });
      await use(store, 12);
      tasks = await everyTask(store);
      await store.close();
    }
    for (const name of filesBelow(other).filter((path) => path !== 'lock')) {
      const directory = memoryFolder();
      cpSync(one, directory, { recursive: true });
      cpSync(join(other, name), join(directory, name));
      const opening = openLowdbStore({ directory });
      if (filesBelow(one).includes(name)) {
        await expect(opening, name).rejects.toMatchObject({ code: 'store_corrupt' });
        continue;
      }
      // Files that the checkpoint does not name, or has already, are removed unread.
      const outcome = await opening.catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'store_corrupt' });
      else {
        const store = outcome as Store;
        expect(await everyTask(store), name).toEqual(tasks);
        await store.close();
      }
    }
  });
});
