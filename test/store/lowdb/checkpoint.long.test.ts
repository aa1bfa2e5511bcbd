import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { filesBelow } from '../../cli/folder.ts';
import { gate } from '../../gate.ts';
import { memoryFolder } from '../../oriel.ts';
import { everyTask, findInconsistencies, pendingDeliveries } from '../consistency.ts';
import { hookedFiles, systemError } from '../hooked-files.ts';
import { completionOf, newAsset, owner, taskFor } from '../records.ts';
import { copyAsCrashed } from './crash-copy.ts';
import { openCrashed, openHooked } from './test-store.ts';

/** So short that a checkpoint is made every few transactions. */
const journalLimit = 3000;

/** What was acknowledged. */
interface Known {
  readonly made: string[];
  readonly ended: string[];
  readonly assets: string[];
  /** Tasks whose callback was delivered. */
  readonly delivered: string[];
}

/** Uses a store until several checkpoints have been made. */
async function use(store: Store, known: Known, rounds = 12): Promise<void> {
  const account = await store.findAccount('owner');
  const [key] = account ? await store.listKeys(account.id) : [(await owner(store, 1_000_000)).key];
  for (let round = 0; round < rounds; round += 1) {
    const [input, output] = [newAsset(), newAsset()];
    const callbackUrl = 'https://example.com/callback';
    const { task } = await store.createTask(
      taskFor(key!, { reservation: 3, callbackUrl, assets: [input] }),
    );
    known.made.push(task.id);
    const claim = (await store.claimTask(task.id))!;
    const completion = completionOf({ result: { round }, charge: 2, assets: [output] });
    await store.completeTask(claim, completion);
    known.ended.push(task.id);
    known.assets.push(output.id);
    const [delivery] = (await store.listDeliveries(task.accountId, task.id))!;
    const attempt = { at: round, status: 204, error: null, milliseconds: 1 };
    await store.recordAttempt(delivery!, attempt, { status: 'delivered' });
    known.delivered.push(task.id);
    await store.settle(
      { accountId: key!.accountId, keyId: key!.id },
      { model: 'm', counts: {}, charge: 1 },
    );
  }
}

/** Uses a store until a condition of its background work holds. */
async function useUntil(store: Store, known: Known, happened: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !happened(); round += 1) await use(store, known, 1);
  expect(happened()).toBe(true);
}

async function expectKnown(store: Store, { made, ended, assets, delivered }: Known): Promise<void> {
  const tasks = new Map((await everyTask(store)).map((task) => [task.id, task]));
  expect(made.filter((id) => !tasks.has(id))).toEqual([]);
  expect(ended.filter((id) => tasks.get(id)?.status !== 'completed')).toEqual([]);
  for (const id of assets) expect(await store.findAsset(id)).toMatchObject({ id });
  const open = new Set((await pendingDeliveries(store)).map(({ taskId }) => taskId));
  expect(delivered.filter((id) => open.has(id))).toEqual([]);
  expect(await findInconsistencies(store)).toEqual([]);
}

const nothing = (): Known => ({ made: [], ended: [], assets: [], delivered: [] });

/** Directory of a closed store with a checkpoint. */
async function checkpointed() {
  const directory = memoryFolder();
  const known = nothing();
  const store = await openLowdbStore({ directory, journalLimit });
  await use(store, known);
  await store.close();
  expect(filesBelow(directory)).toContain('checkpoint.json');
  return { directory, known };
}

describe('a checkpoint', () => {
  it('replaces the journals, which are removed', async () => {
    const { directory, known } = await checkpointed();
    const journals = readdirSync(join(directory, 'journal'));
    expect(journals.length).toBeLessThanOrEqual(2);
    expect(journals).not.toContain('00000001.journal');
    const { shards } = JSON.parse(readFileSync(join(directory, 'checkpoint.json'), 'utf8')) as {
      shards: { file: string }[];
    };
    expect(readdirSync(join(directory, 'shards')).sort()).toEqual(
      shards.map(({ file }) => file).sort(),
    );
    const store = await openLowdbStore({ directory, journalLimit });
    await expectKnown(store, known);
    await store.close();
  });

  it('loses nothing in a crash at any of its steps', async () => {
    const directory = memoryFolder();
    const copies: { copy: string; known: Known; after: string }[] = [];
    const known = nothing();
    /** Copies of each step, whatever the number in its file's name. */
    const steps = new Map<string, number>();
    let watched: RegExp | null = null;
    const files = hookedFiles((operation, path) => {
      if (!watched?.test(path)) return;
      const after = `${operation} ${path.slice(directory.length + 1)}`;
      const step = after.replaceAll(/\d+/g, 'N').replace(/(shards\/)[a-z]+/, '$1X');
      const count = (steps.get(step) ?? 0) + 1;
      steps.set(step, count);
      // The first ones, and then fewer and fewer: 1, 2, 4, 16, 64 and so on.
      if (count !== 2 && !Number.isInteger(Math.log2(count) / 2)) return;
      copies.push({ copy: copyAsCrashed(directory), known: structuredClone(known), after });
    }, true);
    const store = await openLowdbStore({ directory, journalLimit, files });
    const isLike = (pattern: RegExp) => copies.some(({ after }) => pattern.test(after));
    await use(store, known, 1);
    watched = /./;
    await useUntil(store, known, () => isLike(/^unlink shards/));
    await use(store, known, 2);
    watched = null;
    // The same while segments are merged.
    const segments = () => readdirSync(join(directory, 'archive')).length;
    await useUntil(store, known, () => segments() >= 7);
    watched = /archive|checkpoint/;
    await useUntil(store, known, () => isLike(/^unlink archive/));
    watched = null;
    await store.close();
    expect([...steps.keys()].sort()).toEqual(
      [
        'open archive',
        'open archive/N.segment',
        'open archive/N.segment.new',
        'open checkpoint.json.new',
        'open journal',
        'open journal/N.journal.new',
        'open shards',
        'open store.json.new',
        'open shards/X-N.N.json.new',
        'open ',
        'datasync journal/N.journal.new',
        'writeSync journal/N.journal.new',
        'rename archive/N.segment',
        'rename checkpoint.json',
        'rename journal/N.journal',
        'rename shards/X-N.N.json',
        'rename store.json',
        'sync ',
        'sync archive',
        'sync archive/N.segment.new',
        'sync checkpoint.json.new',
        'sync journal',
        'sync journal/N.journal.new',
        'sync shards',
        'sync shards/X-N.N.json.new',
        'sync store.json.new',
        'unlink archive/N.segment',
        'unlink journal/N.journal',
        'unlink shards/X-N.N.json',
        'write journal/N.journal.new',
        'writeFile archive/N.segment.new',
        'writeFile checkpoint.json.new',
        'writeFile shards/X-N.N.json.new',
        'writeFile store.json.new',
      ].sort(),
    );
    for (const [at, { copy, known: then }] of copies.entries()) {
      const crashed = await openLowdbStore({ directory: copy, journalLimit });
      await expectKnown(crashed, then);
      // The store works on, through further checkpoints.
      if (at % 8 === 0) await use(crashed, then, 4);
      await crashed.close();
      if (at % 8 === 0) {
        const again = await openLowdbStore({ directory: copy, journalLimit });
        await expectKnown(again, then);
        await again.close();
      }
      rmSync(copy, { recursive: true });
    }
  });

  it.each([
    ['a new journal', 'open', /journal\.new$/],
    ["a new journal's name", 'rename', /journal$/],
    ["a new journal's folder", 'sync', /\/journal$/],
    ['the manifest', 'writeFile', /store\.json/],
    ["the manifest's name", 'rename', /store\.json/],
    ["the manifest's folder", 'sync', /oriel-test-[^/]+$/],
    ['a shard', 'writeFile', /shards/],
    ["a shard's sync", 'sync', /shards.*json/],
    ["a shard's name", 'rename', /shards/],
    ['a segment', 'open', /segment\.new$/],
    ['the content of a segment', 'writeFile', /segment/],
    ["a segment's sync", 'sync', /segment/],
    ["a segment's name", 'rename', /segment/],
    ["a segment's folder", 'sync', /archive$/],
    ['the removal of a segment', 'unlink', /segment$/],
    ['checkpoint.json', 'writeFile', /checkpoint/],
    ['the name of checkpoint.json', 'rename', /checkpoint/],
    ['the removal of a journal', 'unlink', /journal$/],
    ['the removal of a shard', 'unlink', /shards/],
  ])('that fails at %s is repeated later', async (_, operation, path) => {
    const known = nothing();
    const { directory, disk, faults, store } = await openHooked({
      directory: memoryFolder(),
      journalLimit,
    });
    await use(store, known, 4);
    disk.hook = (name, at) => {
      if (name === operation && path.test(at)) throw systemError('ENOSPC');
    };
    // More tasks than one shard has: later changes do not touch the first shard.
    const [key] = await store.listKeys();
    const many = Array.from({ length: 600 }, () =>
      store.createTask(taskFor(key!, { reservation: 0 })),
    );
    known.made.push(...(await Promise.all(many)).map(({ task }) => task.id));
    await useUntil(store, known, () => faults.length > 0);
    await use(store, known, 8);
    await expectKnown(store, known);
    const crashed = await openCrashed(directory);
    await expectKnown(crashed, known);

    disk.hook = () => {};
    await use(store, known, 14);
    await store.close();
    expect(readdirSync(join(directory, 'journal')).length).toBeLessThanOrEqual(2);
    const again = await openLowdbStore({ directory, journalLimit });
    await expectKnown(again, known);
    await again.close();
  });

  it('contains only what is synced in the journal', async () => {
    const known = nothing();
    const { directory, disk, store } = await openHooked({
      directory: memoryFolder(),
      journalLimit,
    });
    await use(store, known, 4);
    // The first journal write during each checkpoint fails, after the checkpoint has written the ledger.
    let isUnderWay = false;
    disk.hook = async (operation, path) => {
      if (operation === 'open' && path.includes('accounts')) isUnderWay = true;
      if (operation === 'writeFile' && path.includes('ledger')) isUnderWay = false;
      if (operation !== 'write' || !isUnderWay) return;
      while (isUnderWay) await setImmediate();
      throw systemError('EIO');
    };
    const account = await store.findAccount('owner');
    let { granted } = account!;
    const copies: { copy: string; known: number }[] = [];
    for (let n = 0; n < 500 && copies.length < 8; n += 1) {
      try {
        await store.grant(account!.id, 1, 'x'.repeat(300));
        granted += 1;
      } catch {
        copies.push({ copy: copyAsCrashed(directory), known: granted });
      }
    }
    disk.hook = () => {};
    await store.close();
    expect(copies).toHaveLength(8);
    for (const { copy, known: then } of copies) {
      const crashed = await openLowdbStore({ directory: copy });
      expect(await crashed.findAccount('owner')).toMatchObject({ granted: then });
      await expectKnown(crashed, known);
      await crashed.close();
    }
  });

  it('makes writes wait once a whole journal was written while it is made', async () => {
    const { disk, store } = await openHooked({ journalLimit });
    const { account } = await owner(store, 0);
    const grant = (to: Store, id: string) => to.grant(id, 1, 'x'.repeat(300));
    // No shard is written until this resolves.
    const { passed: released, open: release } = gate();
    disk.hook = (operation, path) => {
      return operation === 'open' && path.includes('shards') ? released : undefined;
    };
    // More than two journals hold; the journal that is current grows to its limit and no further.
    let granted = 0;
    const grants = Array.from({ length: 100 }, () =>
      grant(store, account.id).then(() => granted++),
    );
    const writes = (async () => {
      for (let n = 0; n < 100; n += 1) await grants[n];
      for (let n = 0; n < 100; n += 1) await grant(store, account.id).then(() => granted++);
    })();
    const other = await openLowdbStore({ directory: memoryFolder() });
    const { account: another } = await owner(other, 0);
    for (let n = 0; n < 300; n += 1) await grant(other, another.id);
    expect(granted).toBeLessThan(200);
    release();
    await writes;
    expect(await store.findAccount(account.id)).toMatchObject({ granted: 200 });
    await store.close();
    await other.close();
  });

  it('writes only the shards with changed rows', async () => {
    const { directory } = await checkpointed();
    const store = await openLowdbStore({ directory, journalLimit: 1e9 });
    const [key] = await store.listKeys();
    await Promise.all(
      Array.from({ length: 1500 }, () => store.createTask(taskFor(key!, { reservation: 0 }))),
    );
    await store.close();
    const shards = () => readdirSync(join(directory, 'shards')).sort();
    const again = await openLowdbStore({ directory, journalLimit });
    await again.createTask(taskFor(key!, { reservation: 0 }));
    await again.close();
    const before = shards();
    expect(before.filter((name) => name.startsWith('tasks'))).toHaveLength(3);
    const third = await openLowdbStore({ directory, journalLimit });
    for (let n = 0; n < 12; n += 1) await third.grant(key!.accountId, 1, 'x'.repeat(300));
    await third.close();
    const changed = shards().filter((name) => !before.includes(name));
    expect(changed.map((name) => name.replace(/\d+\.json/, ''))).toEqual([
      'accounts-000000.',
      'ledger-000000.',
    ]);
  });

  it('creates folders with mode 700 and files with mode 600, like journals and lock', async () => {
    const directory = join(memoryFolder(), 'a', 'b');
    const mask = process.umask(0);
    try {
      const store = await openLowdbStore({ directory, journalLimit });
      await use(store, nothing());
      const modes = (names: string[]) =>
        new Set(names.map((name) => (statSync(join(directory, name)).mode & 0o777).toString(8)));
      expect(modes(['', 'journal', 'shards', '..'])).toEqual(new Set(['700']));
      expect(filesBelow(directory)).toContain('lock');
      expect(modes(filesBelow(directory))).toEqual(new Set(['600']));
      await store.close();
    } finally {
      process.umask(mask);
    }
  });

  it('keeps files with other names in its folders', async () => {
    const { directory, known } = await checkpointed();
    for (const name of ['notes.txt', 'journal/00000001.journal.bak', 'shards/mine.json']) {
      writeFileSync(join(directory, name), 'mine');
    }
    writeFileSync(join(directory, 'journal', '00000009.journal.new'), 'half');
    writeFileSync(join(directory, 'shards', 'tasks-000000.99.json.new'), 'half');
    const store = await openLowdbStore({ directory, journalLimit });
    await use(store, known);
    await store.close();
    const left = filesBelow(directory);
    expect(left).toEqual(expect.arrayContaining(['notes.txt', 'shards/mine.json']));
    expect(left).toContain('journal/00000001.journal.bak');
    expect(left.filter((path) => path.endsWith('.new'))).toEqual([]);
  });
});
