import { expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { type Gate, gate } from '../../gate.ts';
import { temporaryFolder } from '../../oriel.ts';
import { hookedFiles } from '../hooked-files.ts';
import { owner } from '../records.ts';
import { copyAsCrashed } from './crash-copy.ts';

const metered = { model: 'm', counts: { inputTokens: 3 }, charge: 2 };

it('books 100 charges in one transaction', async () => {
  const directory = temporaryFolder();
  let transactions = 0;
  const store = await openLowdbStore({
    directory,
    onCommit: (commit) => {
      transactions += commit.transactions;
    },
  });
  const { account, key } = await owner(store, 1000);
  const before = transactions;
  const payer = { accountId: account.id, keyId: key.id };
  for (let time = 0; time < 100; time += 1) await store.settle(payer, metered);
  // A charge that is not booked yet cannot be spent again.
  await expect(store.reserve(account.id, key.id, 801)).rejects.toMatchObject({
    code: 'insufficient_credits',
  });
  expect((await store.findKey(key.hash))!.account).toMatchObject({ reserved: 200, spent: 0 });
  expect((await store.statistics()).credits).toEqual({ granted: 1000, reserved: 0, spent: 200 });
  expect(await store.findAccount(account.id)).toMatchObject({ reserved: 0, spent: 200 });
  await store.close();
  expect(transactions - before).toBe(1);
});

it('books each charge on its day, key and model', async () => {
  let now = Date.UTC(2026, 10, 21, 23, 59, 59, 999);
  const store = await openLowdbStore({ directory: temporaryFolder(), now: () => now });
  const { account, key } = await owner(store, 1000);
  const payer = { accountId: account.id, keyId: key.id };
  await store.settle(payer, metered);
  await store.settle(payer, { ...metered, model: 'other' });
  now += 1;
  await store.settle(payer, metered);
  await store.settle(payer, metered);
  const days = { from: '2026-11-01', to: '2026-11-30' };
  expect(await store.listUsage(account.id, days)).toMatchObject([
    { day: '2026-11-21', model: 'm', requests: 1, inputTokens: 3, spent: 2 },
    { day: '2026-11-21', model: 'other', requests: 1, inputTokens: 3, spent: 2 },
    { day: '2026-11-22', model: 'm', requests: 2, inputTokens: 6, spent: 4 },
  ]);
  expect(await store.listLedger(account.id, { limit: 9 })).toMatchObject([
    { model: 'm', requests: 2, amount: 4, at: now, available: 992 },
    { model: 'other', requests: 1, amount: 2, at: now - 1, available: 996 },
    { model: 'm', requests: 1, amount: 2, at: now - 1, available: 998 },
    { type: 'grant' },
  ]);
  await store.close();
});

it('books pending charges before a change of the same account', async () => {
  const store = await openLowdbStore({ directory: temporaryFolder() });
  const { account, key } = await owner(store, 10);
  await store.settle({ accountId: account.id, keyId: key.id }, metered);
  expect(await store.grant(account.id, 5)).toMatchObject({ granted: 15, reserved: 0, spent: 2 });
  await store.settle({ accountId: account.id, keyId: key.id }, metered);
  expect(await store.revokeKey(key.id)).toMatchObject({ reserved: 0, spent: 4 });
  await store.close();
  await expect(
    store.settle({ accountId: account.id, keyId: key.id }, metered),
  ).rejects.toMatchObject({ code: 'store_unavailable' });
});

it('has a charge on disk before its request is answered, also if it is booked during a write', async () => {
  const directory = temporaryFolder();
  const writes: Gate[] = [];
  let isHeld = false;
  const files = hookedFiles(async (operation) => {
    if (operation !== 'write' || !isHeld) return;
    const write = gate();
    writes.push(write);
    await write.passed;
  });
  const store = await openLowdbStore({ directory, files });
  const { account, key } = await owner(store, 1000);
  const payer = { accountId: account.id, keyId: key.id };
  await store.settle(payer, metered);
  isHeld = true;
  const first = store.grant(account.id, 1);
  await expect.poll(() => writes.length).toBe(1);
  const charging = store.settle(payer, metered);
  // Books the charge, in a batch that waits for the first.
  const second = store.grant(account.id, 1);
  writes[0]!.open();
  await first;
  await charging;
  await expect.poll(() => writes.length).toBe(2);
  const copy = await openLowdbStore({ directory: copyAsCrashed(directory) });
  expect(await copy.findAccount(account.id)).toMatchObject({ granted: 1001, spent: 4 });
  await copy.close();
  isHeld = false;
  writes[1]!.open();
  await second;
  const other = await openLowdbStore({ directory: copyAsCrashed(directory) });
  expect(await other.findAccount(account.id)).toMatchObject({ granted: 1002, spent: 4 });
  await other.close();
  await store.close();
});
