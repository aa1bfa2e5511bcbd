import { expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { type Gate, gate } from '../../gate.ts';
import { temporaryFolder } from '../../oriel.ts';
import { hookedFiles } from '../hooked-files.ts';
import { owner } from '../records.ts';
import { openCrashed } from './test-store.ts';

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
  const { account, key, payer } = await owner(store, 1000);
  const before = transactions;
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
  const { account, payer } = await owner(store, 1000);
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
  const copy = await openCrashed(directory);
  expect(await copy.findAccount(account.id)).toMatchObject({ granted: 1001, spent: 4 });
  isHeld = false;
  writes[1]!.open();
  await second;
  const other = await openCrashed(directory);
  expect(await other.findAccount(account.id)).toMatchObject({ granted: 1002, spent: 4 });
  await store.close();
});
