import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { everyTask, findInconsistencies, openTasks } from '../consistency.ts';
import { bothOf, crashed, failureWith, freshStore, untilCrash } from '../fresh-store.ts';
import { CREDIT, owner, taskFor } from '../records.ts';
import { describeAccounts } from './accounts.ts';
import { describeAssets } from './assets.ts';
import { describeBudgetProperties } from './budget-properties.ts';
import { describeBudgets } from './budgets.ts';
import { describeCredits } from './credits.ts';
import { describeDeliveries } from './deliveries.ts';
import type { DriverFactory, OpenOptions } from './driver-factory.ts';
import { describeLedgerProperties } from './ledger-properties.ts';
import { describeListingProperties } from './listing-properties.ts';
import { describeNodes } from './nodes.ts';
import { describeSelection } from './selection.ts';
import { describeSessions } from './sessions.ts';
import { describeTasks } from './tasks.ts';
import { describeTransfer } from './transfer.ts';

/** Tests that every driver of the store must pass. */
export function describeStoreDriver(driver: DriverFactory): void {
  const fresh = (options?: OpenOptions) => freshStore(driver, options);

  it('starts empty', async () => {
    const { store, reopened } = await fresh();
    for await (const one of bothOf(store, reopened)) {
      expect(await one.listAccounts()).toEqual([]);
      expect(await one.listKeys()).toEqual([]);
      expect(await openTasks(one)).toEqual([]);
      expect(await one.listTasks({}, { limit: 9 })).toEqual([]);
      expect(await findInconsistencies(one)).toEqual([]);
    }
  });

  it('writes everything before close resolves, and rejects calls afterwards', async () => {
    const { store, reopened } = await fresh();
    const { account, key } = await owner(store);
    const holder = { accountId: account.id, keyId: key.id };
    const made = store.createTask(taskFor(key));
    await store.settle(holder, { model: 'm', counts: {}, charge: 1 });
    const again = await reopened();
    expect(await again.findTask(account.id, (await made).task.id)).toBeDefined();
    expect(await again.findAccount(account.id)).toMatchObject({ spent: 1 });
    await again.close();
    await again.close();
    await expect(again.grant(account.id, 1)).rejects.toEqual(failureWith('store_unavailable', 503));
  });

  it('has all acknowledged tasks after a crash', async () => {
    const { store, place } = await fresh();
    const { account, key } = await owner(store, 1000 * CREDIT);
    const acknowledged: string[] = [];
    const copies: { copy: string; known: string[] }[] = [];
    await Promise.all(
      Array.from({ length: 200 }, () =>
        untilCrash(driver, async () => {
          acknowledged.push((await store.createTask(taskFor(key))).task.id);
          if (acknowledged.length % 20 !== 0) return;
          const known = [...acknowledged];
          copies.push({ copy: await crashed(driver, store, place), known });
        }),
      ),
    );
    for (const { copy, known } of copies) {
      const left = await driver.open(copy);
      const found = (await everyTask(left, account.id)).map(({ id }) => id);
      expect(known.filter((id) => !found.includes(id))).toEqual([]);
      expect(await findInconsistencies(left)).toEqual([]);
      await left.close();
    }
    await store.close();
  });

  it('has all acknowledged charges after a crash', async () => {
    const { store, place } = await fresh();
    const { account, key } = await owner(store, 1000 * CREDIT);
    const copies: { copy: string; known: number }[] = [];
    let known = 0;
    let sent = 0;
    await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        untilCrash(driver, async () => {
          // Some charges together and some apart, beside writes in progress.
          for (let turn = at % 7; turn > 0; turn -= 1) await setImmediate();
          if (at % 10 === 0) await store.createTask(taskFor(key));
          const hold = await store.reserve(account.id, key.id, 2);
          sent += 1;
          await store.settle(hold, { model: `m${at % 3}`, counts: {}, charge: 1 });
          known += 1;
          if (at % 20 !== 0) return;
          const before = known;
          copies.push({ copy: await crashed(driver, store, place), known: before });
        }),
      ),
    );
    if (driver.copyAsCrashed) {
      expect(known).toBe(200);
      expect(store.health().fault).toBeNull();
      expect(store.health().journal?.checkpointFault ?? null).toBeNull();
    }
    for (const { copy, known } of copies) {
      const left = await driver.open(copy);
      const { spent } = (await left.findAccount(account.id))!;
      expect(spent).toBeGreaterThanOrEqual(known);
      expect(spent).toBeLessThanOrEqual(sent);
      expect(await findInconsistencies(left)).toEqual([]);
      await left.close();
    }
    await store.close();
  });

  describeAccounts(driver);
  describeSelection(driver);
  describeSessions(driver);
  describeTasks(driver);
  describeCredits(driver);
  describeBudgets(driver);
  describeAssets(driver);
  describeDeliveries(driver);
  describeNodes(driver);
  describeBudgetProperties(driver);
  describeLedgerProperties(driver);
  describeListingProperties(driver);
  describeTransfer(driver);
}
