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

const ACCOUNT = {
  id: 'acct_former',
  name: 'owner',
  plan: 'paid',
  granted: 100,
  reserved: 10,
  spent: 0,
  callbackSecret: 'whsec_x',
  createdAt: 1,
};
const KEY = {
  id: 'key_former',
  accountId: ACCOUNT.id,
  name: 'laptop',
  hash: 'a'.repeat(64),
  hint: '…',
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  models: null,
  rpm: null,
  budget: null,
  reserved: 10,
  spent: 0,
};

/** A task as it was written before tasks had callbacks and progress. */
function formerTask(id: string) {
  return {
    id,
    accountId: ACCOUNT.id,
    keyId: KEY.id,
    type: 'image',
    model: 'm',
    status: 'processing',
    request: { prompt: 'a harbour at dawn' },
    result: null,
    error: null,
    reserved: 5,
    charged: 0,
    attempts: 1,
    createdAt: 1,
    updatedAt: 2,
    deadline: 4_000_000_000_000,
    idempotency: null,
  };
}

function entry(id: number, change: object) {
  const none = { keyId: null, taskId: null, model: null, requests: null, note: null, at: 1 };
  return { id, accountId: ACCOUNT.id, ...none, ...change };
}

/** Usage as it was written before it was by key. */
const USAGE = {
  accountId: ACCOUNT.id,
  day: '2026-11-20',
  model: 'm',
  requests: 2,
  inputTokens: 7,
  cachedInputTokens: 0,
  outputTokens: 3,
  outputs: 0,
  spent: 0,
};

/** A charge that was written before charges had a team and windows. */
const CHARGE = {
  accountId: ACCOUNT.id,
  keyId: KEY.id,
  model: 'm',
  paid: 1,
  amount: 4,
  counts: { requests: 1, inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, outputs: 0 },
  at: Date.UTC(2026, 10, 20, 12),
};

/** A store of version 1: rows in shards, and a journal with more. */
function former(more: Readonly<Record<string, object[]>> = {}): string {
  const directory = temporaryFolder();
  for (const folder of ['journal', 'shards']) mkdirSync(join(directory, folder));
  const collections = {
    accounts: [ACCOUNT],
    keys: [KEY],
    tasks: [formerTask('task_shard')],
    ledger: [
      entry(1, { type: 'grant', amount: 100, available: 100 }),
      entry(2, { type: 'reserve', amount: 5, available: 95, taskId: 'task_shard' }),
      entry(3, { type: 'reserve', amount: 5, available: 90, taskId: 'task_journal' }),
    ],
    ...more,
  };
  const shards = Object.entries(collections).map(([collection, all]) => {
    const rows = all.map((row, at) => [at + 1, row]);
    const bytes = `${JSON.stringify({ collection, number: 0, rows })}\n`;
    const file = `${collection}-000000.2.json`;
    writeFileSync(join(directory, 'shards', file), bytes);
    return { collection, number: 0, file, checksum: crc32(bytes) };
  });
  const list = { version: 1, journal: 2, shards };
  const manifest = { ...list, checksum: crc32(JSON.stringify(list)) };
  writeFileSync(join(directory, 'checkpoint.json'), JSON.stringify(manifest));
  const lines = [
    { format: 'oriel-journal', version: 1, sequence: 2 },
    [['tasks', 2, formerTask('task_journal')]],
  ];
  const journal = Buffer.concat(lines.map((line) => encodeLine(JSON.stringify(line))));
  writeFileSync(join(directory, 'journal', '00000002.journal'), journal);
  return directory;
}

it('opens a store of version 1, and continues it', async () => {
  const directory = former();
  const store = await openLowdbStore({ directory, journalLimit: 500 });
  const open = await openTasks(store);
  const gaps = { callbackUrl: null, progress: null };
  expect(open).toEqual(
    ['task_shard', 'task_journal'].map((id) => ({ ...formerTask(id), ...gaps })),
  );
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
  const directory = former({ usage: [USAGE], charges: [CHARGE] });
  const store = await openLowdbStore({ directory, now: () => CHARGE.at });
  const days = { from: '2026-01-01', to: '2026-12-31' };
  expect(await store.findAccount(ACCOUNT.id)).toMatchObject({ spent: 4 });
  expect(await store.listTeams()).toEqual([]);
  expect(await store.listBudgetWindows()).toEqual([]);
  // Counts of earlier versions have no writes of caches.
  const written = { cacheWriteTokens: 0, cacheWrite1hTokens: 0, errors: 0 };
  const usage = [USAGE, { ...USAGE, ...CHARGE.counts, ...written, keyId: KEY.id, spent: 4 }];
  expect(await store.listUsage(ACCOUNT.id, days)).toEqual(usage);
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
