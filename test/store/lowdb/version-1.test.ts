import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { encodeLine } from '../../../src/store/line.ts';
import type { Recovery } from '../../../src/store/options.ts';
import { temporaryFolder } from '../../oriel.ts';
import { claimOf, findInconsistencies, openTasks, pendingDeliveries } from '../consistency.ts';
import { completionOf, newAsset } from '../records.ts';

/**
 * Rows as version 1 wrote them: tasks without callbacks and progress; usage before it was by key, and a charge
 * before charges had a team and windows.
 */
const { accounts, keys, tasks, ledger, usage, charges } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'version-1.json'), 'utf8'),
);
const [ACCOUNT] = accounts;
const [KEY] = keys;
const [CHARGE] = charges;

/** A store of version 1: rows in shards, and a journal with more. */
function former(more: Readonly<Record<string, object[]>> = {}): string {
  // The copy of the former store stands beside it.
  const directory = join(temporaryFolder(), 'store');
  for (const folder of ['journal', 'shards'])
    mkdirSync(join(directory, folder), { recursive: true });
  const collections = { accounts, keys, tasks: tasks.slice(0, 1), ledger, ...more };
  const shards = Object.entries<object[]>(collections).map(([collection, all]) => {
    const rows = all.map((row, at) => [at + 1, row]);
    const bytes = `${JSON.stringify({ collection, number: 0, rows })}\n`;
    const file = `${collection}-000000.2.json`;
    writeFileSync(join(directory, 'shards', file), bytes);
    return { collection, number: 0, file, checksum: crc32(bytes) };
  });
  const list = { version: 1, journal: 2, shards };
  const manifest = { ...list, checksum: crc32(JSON.stringify(list)) };
  writeFileSync(join(directory, 'checkpoint.json'), JSON.stringify(manifest));
  const lines = [{ format: 'oriel-journal', version: 1, sequence: 2 }, [['tasks', 2, tasks[1]]]];
  const journal = Buffer.concat(lines.map((line) => encodeLine(JSON.stringify(line))));
  writeFileSync(join(directory, 'journal', '00000002.journal'), journal);
  return directory;
}

it('opens a store of version 1, and continues it', async () => {
  const directory = former();
  const store = await openLowdbStore({ directory, journalLimit: 500 });
  const open = await openTasks(store);
  const gaps = { callbackUrl: null, progress: null };
  expect(open).toEqual(tasks.map((task: object) => ({ ...task, ...gaps })));
  expect(await store.listDeliveries(ACCOUNT.id, 'task_shard')).toEqual([]);
  expect(await pendingDeliveries(store)).toEqual([]);
  const asset = newAsset();
  await store.claimOrphans({ limit: 9 });
  await store.saveProgress(await claimOf(store, 'task_shard'), { job: 1 });
  await store.completeTask(
    await claimOf(store, 'task_shard'),
    completionOf({ charge: 2, assets: [asset] }),
  );
  await store.expireTask(await claimOf(store, 'task_journal'));
  expect(await pendingDeliveries(store)).toEqual([]);
  expect(await findInconsistencies(store)).toEqual([]);
  await store.close();
  const again = await openLowdbStore({ directory });
  expect(await again.findAsset(asset.id)).toMatchObject({ taskId: 'task_shard' });
  expect((await again.deleteTasks(Infinity)).tasks).toHaveLength(2);
  expect(await findInconsistencies(again)).toEqual([]);
  await again.close();
  // The store now has a manifest, without which it is not opened.
  rmSync(join(directory, 'store.json'));
  await expect(openLowdbStore({ directory })).rejects.toMatchObject({
    code: 'store_corrupt',
    message: expect.stringContaining('store.json'),
  });
});

it('opens a store of version 1 with a journal whose folder was not synced', async () => {
  const directory = former();
  const path = (sequence: number) => join(directory, 'journal', `0000000${sequence}.journal`);
  const header = { format: 'oriel-journal', version: 1, sequence: 3 };
  writeFileSync(path(3), encodeLine(JSON.stringify(header)));
  appendFileSync(path(2), 'torn');
  const recoveries: Recovery[] = [];
  const store = await openLowdbStore({ directory, onRecovery: (one) => recoveries.push(one) });
  expect(await openTasks(store)).toHaveLength(2);
  await store.close();
  expect(recoveries).toMatchObject([{ file: path(2), dropped: 4 }]);
  expect(readFileSync(recoveries[0]!.keptIn, 'utf8')).toBe('torn');
  const again = await openLowdbStore({ directory });
  expect(await openTasks(again)).toHaveLength(2);
  await again.close();
});

it('continues usage, charges and keys from before windows, teams and usage by key', async () => {
  const directory = former({ usage, charges });
  const store = await openLowdbStore({ directory, now: () => CHARGE.at });
  const days = { from: '2026-01-01', to: '2026-12-31' };
  expect(await store.findAccount(ACCOUNT.id)).toMatchObject({ spent: 4 });
  expect(await store.listTeams()).toEqual([]);
  expect(await store.listBudgetWindows()).toEqual([]);
  // Counts of earlier versions have no writes of caches.
  const written = { cacheWriteTokens: 0, cacheWrite1hTokens: 0, cacheHits: 0, errors: 0 };
  const added = { ...usage[0], ...CHARGE.counts, ...written, keyId: KEY.id, spent: 4 };
  expect(await store.listUsage(ACCOUNT.id, days)).toEqual([...usage, added]);
  const team = await store.createTeam({ accountId: ACCOUNT.id, name: 'crew', budget: 50 });
  const windows = { timeZone: 'Europe/Berlin', day: 20 };
  await store.updateKey(KEY.id, { teamId: team.id, windows });
  await store.claimOrphans({ limit: 9 });
  await store.completeTask(await claimOf(store, 'task_shard'), completionOf({ charge: 2 }));
  const hold = await store.reserve(ACCOUNT.id, KEY.id, 20);
  await store.settle(hold, { model: 'm', counts: {}, charge: 6 });
  await store.close();
  const again = await openLowdbStore({ directory, now: () => CHARGE.at });
  // The task reserved its credits before the key had windows and a team.
  expect(await again.listTeams()).toMatchObject([{ reserved: 0, spent: 6 }]);
  expect(await again.listBudgetWindows()).toMatchObject([
    { holderId: KEY.id, period: 'day', from: '2026-11-20', reserved: 0, spent: 6 },
  ]);
  const rows = await again.listUsage(ACCOUNT.id, days);
  expect(rows.map(({ keyId, teamId, spent }) => [keyId, teamId, spent])).toEqual([
    [undefined, undefined, 0],
    [KEY.id, undefined, 6],
    [KEY.id, team.id, 6],
  ]);
  expect(await findInconsistencies(again)).toEqual([]);
  await again.close();
});
