import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../oriel.ts';
import { everyTask, findInconsistencies } from '../consistency.ts';
import { failureWith } from '../fresh-store.ts';
import { type Hook, hookedFiles, systemError } from '../hooked-files.ts';
import { completionOf, newAsset, owner, stranger, taskFor } from '../records.ts';
import { openCrashed, openHooked } from './test-store.ts';

const journalLimit = 3000;

interface Cost {
  readonly heapUsed: number;
  readonly completed: number;
  readonly page: number;
  readonly repeated: boolean;
  readonly rows: number;
}

/** Ends tasks in a separate process. */
async function end(
  directory: string,
  {
    tasks,
    characters,
    limit,
    heap = 256,
  }: { tasks: number; characters: number; limit: number; heap?: number },
): Promise<Cost> {
  const script = join(import.meta.dirname, 'archive-process.mjs');
  const args = [`--max-old-space-size=${heap}`, '--expose-gc', script, directory];
  const numbers = [tasks, characters, limit].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, [...args, ...numbers]);
  return JSON.parse(stdout) as Cost;
}

/** Ends tasks until a checkpoint has archived some of them. */
async function archived(store: Store, directory: string, least = 1): Promise<string[]> {
  const [key] = await store.listKeys();
  const ids: string[] = [];
  const count = () => {
    const names = readdirSync(directory);
    return names.includes('archive') ? readdirSync(join(directory, 'archive')).length : 0;
  };
  while (count() < least) {
    const { task } = await store.createTask(taskFor(key!, { reservation: 0 }));
    const claim = (await store.claimTask(task.id))!;
    await store.completeTask(claim, completionOf({ assets: [newAsset()] }));
    ids.push(task.id);
  }
  return ids;
}

const segmentsIn = (directory: string) =>
  readdirSync(join(directory, 'archive')).map((name) => join(directory, 'archive', name));

describe('the archive of ended tasks', () => {
  it('keeps 1500 tasks of 66 kB in a process with 90 MB of heap, also after a restart', async () => {
    const directory = temporaryFolder();
    const large = { characters: 66_000, limit: 16 * 2 ** 20, heap: 90 };
    const first = await end(directory, { tasks: 1500, ...large });
    expect(first).toMatchObject({ completed: 1500, page: 20, repeated: true });
    const again = await end(directory, { tasks: 0, ...large });
    expect(again).toMatchObject({ completed: 1500, page: 20, repeated: true });
    rmSync(directory, { recursive: true });
  });

  it('needs no more memory and no more rows at a start for ten times as many tasks', async () => {
    const small = { characters: 200, limit: 200_000 };
    const costs: Cost[] = [];
    for (const tasks of [600, 6000]) {
      const directory = temporaryFolder();
      await end(directory, { tasks, ...small });
      // What is in memory after a start is what the store keeps in memory.
      costs.push(await end(directory, { tasks: 0, ...small }));
      rmSync(directory, { recursive: true });
    }
    const [few, many] = costs as [Cost, Cost];
    expect([few.completed, many.completed]).toEqual([600, 6000]);
    // In memory they would take 7 MB more, and 12,000 rows. The number of rows since the last checkpoint
    // varies, and is higher on a machine under load.
    expect(many.heapUsed - few.heapUsed).toBeLessThan(3.5e6);
    expect(Math.max(few.rows, many.rows)).toBeLessThan(9000);
  });

  it('takes over tasks from shards and journals of a version without an archive', async () => {
    const directory = temporaryFolder();
    const store = await openLowdbStore({ directory, journalLimit });
    await owner(store, 0);
    await store.close();
    // Checkpoints without segments, as that version made them.
    const disk: { hook: Hook } = { hook: () => {} };
    disk.hook = (operation, path) => {
      if (operation === 'open' && path.includes('.segment')) throw systemError('ENOSPC');
    };
    const files = hookedFiles((...args) => disk.hook(...args));
    const full = await openLowdbStore({ directory, journalLimit, files });
    const [key] = await full.listKeys();
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      const { task } = await full.createTask(taskFor(key!, { reservation: 0 }));
      await full.expireTask(task);
      ids.push(task.id);
    }
    await full.close();
    const again = await openLowdbStore({ directory, journalLimit });
    expect((await everyTask(again)).map(({ id }) => id)).toEqual(ids.toReversed());
    ids.push(...(await archived(again, directory)));
    expect((await everyTask(again)).map(({ id }) => id)).toEqual(ids.toReversed());
    expect(await findInconsistencies(again)).toEqual([]);
    await again.close();
  });

  it('deletes each task once while segments are merged', async () => {
    const directory = temporaryFolder();
    let now = 1_000_000_000_000;
    const open = () => openLowdbStore({ directory, journalLimit, now: () => now });
    let store = await open();
    const { key } = await owner(store, 0);
    const kept: string[] = [];
    for (let round = 0; round < 25; round += 1) {
      now += 1000;
      for (let n = 0; n < 6; n += 1) {
        const { task } = await store.createTask(taskFor(key, { reservation: 0 }));
        await store.expireTask(task);
        kept.push(task.id);
      }
      // Like the retention: deletes what is older than three rounds.
      const { tasks } = await store.deleteTasks(now - 2500);
      const old = kept.splice(0, tasks.length);
      expect(tasks.map(({ id }) => id).sort()).toEqual(old.sort());
      if (round % 5 === 4) {
        await store.close();
        store = await open();
      }
      expect((await everyTask(store)).map(({ id }) => id)).toEqual(kept.toReversed());
    }
    expect(kept.length).toBeLessThanOrEqual(18);
    expect(await findInconsistencies(store)).toEqual([]);
    await store.close();
    // Segments whose records are all deleted are removed.
    expect(segmentsIn(directory).length).toBeLessThan(10);
  });

  it('deletes nothing while it is unknown which checkpoint is on disk', async () => {
    const { directory, disk, faults, store } = await openHooked({
      journalLimit,
    });
    await owner(store, 0);
    // The sync of the folder fails after checkpoint.json was renamed.
    let isNamed = false;
    disk.hook = (operation, path) => {
      if (operation === 'rename' && path.endsWith('checkpoint.json')) isNamed = true;
      if (operation === 'sync' && path === directory && isNamed) throw systemError('EIO');
      if (operation === 'open' && path.endsWith('store.json.new')) isNamed = false;
    };
    const ids: string[] = [];
    const [key] = await store.listKeys();
    for (let n = 0; n < 500 && faults.length === 0; n += 1) {
      const { task } = await store.createTask(taskFor(key!, { reservation: 0 }));
      await store.expireTask(task);
      ids.push(task.id);
    }
    expect(faults).toHaveLength(1);
    const unavailable = failureWith('store_unavailable', 503);
    await expect(store.deleteTasks(Infinity)).rejects.toEqual(unavailable);
    const crashed = await openCrashed(directory, { journalLimit });
    expect((await everyTask(crashed)).map(({ id }) => id)).toEqual(ids.toReversed());
    disk.hook = () => {};
    await expect
      .poll(async () => {
        await archived(store, directory, 2);
        return store.health().journal!.checkpointFault;
      })
      .toBe(null);
    const forgotten = await store.deleteTasks(Infinity);
    expect(forgotten.tasks.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect(await everyTask(store)).toEqual([]);
    await store.close();
  });
});

describe('a damaged record of the archive', () => {
  it('is reported to the operator and the caller, and affects no other record', async () => {
    const directory = temporaryFolder();
    const store = await openLowdbStore({ directory, journalLimit });
    const { account, key } = await owner(store, 0);
    const { other, foreign } = await stranger(store);
    const { task } = await store.createTask(
      taskFor(key, { reservation: 0, request: { prompt: 'a red barn' } }),
    );
    await store.expireTask(task);
    const { task: theirs } = await store.createTask(taskFor(foreign, { reservation: 0 }));
    await store.expireTask(theirs);
    const fillers = await archived(store, directory);
    await store.close();
    const damaged = segmentsIn(directory).filter((path) => {
      const text = readFileSync(path, 'latin1');
      writeFileSync(path, text.replace('a red barn', 'a bad barn'), 'latin1');
      return text.includes('a red barn');
    });
    expect(damaged).toHaveLength(1);
    const faults: string[] = [];
    const again = await openLowdbStore({
      directory,
      journalLimit,
      onFault: (error) => faults.push((error as Error).message),
    });
    const unreadable = failureWith('record_damaged', 500);
    const refused = again.findTask(account.id, task.id);
    await expect(refused).rejects.toEqual(unreadable);
    await expect(refused).rejects.toMatchObject({
      message: expect.not.stringContaining(directory),
    });
    expect(faults[0]).toContain(damaged[0]);
    await expect(everyTask(again, account.id)).rejects.toEqual(unreadable);
    // The damaged record stays. Other tasks can be found and deleted.
    expect(await again.findTask(other.id, theirs.id)).toMatchObject({ status: 'expired' });
    const deleted = (await again.deleteTasks(Infinity)).tasks.map(({ id }) => id);
    expect(deleted.toSorted()).toEqual([theirs.id, ...fillers].toSorted());
    expect(await everyTask(again, other.id)).toEqual([]);
    await archived(again, directory, segmentsIn(directory).length + 1);
    await again.close();
    const third = await openLowdbStore({ directory, journalLimit });
    await expect(third.findTask(account.id, task.id)).rejects.toEqual(unreadable);
    await third.close();
  });
});
