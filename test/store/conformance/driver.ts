import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { everyTask, findInconsistencies, openTasks } from '../consistency.ts';
import {
  bothOf,
  crashed,
  failureWith,
  freshStore,
  type OwnedOptions,
  ownedStore,
  untilCrash,
} from '../fresh-store.ts';
import { CREDIT, keyFor, taskFor } from '../records.ts';
import { describeAccounts } from './accounts.ts';
import { describeAlerts } from './alerts.ts';
import { describeAssets } from './assets.ts';
import { describeBudgetProperties } from './budget-properties.ts';
import { describeBudgets } from './budgets.ts';
import { describeConfigEntries } from './config-entries.ts';
import { describeCredits } from './credits.ts';
import { describeDeliveries } from './deliveries.ts';
import { describeDocuments } from './documents.ts';
import type { DriverFactory, OpenOptions } from './driver-factory.ts';
import { describeLedgerProperties } from './ledger-properties.ts';
import { describeListingProperties } from './listing-properties.ts';
import { describeNodes } from './nodes.ts';
import { describeRequests } from './requests.ts';
import { describeSelection } from './selection.ts';
import { describeSessions } from './sessions.ts';
import { describeTags } from './tags.ts';
import { describeTasks } from './tasks.ts';
import { describeTransfer } from './transfer.ts';

/** Tests that every driver of the store must pass. */
export function describeStoreDriver(driver: DriverFactory): void {
  const fresh = (options?: OpenOptions) => freshStore(driver, options);
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

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
    const { store, reopened, account, key, payer: holder } = await owned();
    const made = store.createTask(taskFor(key));
    await store.settle(holder, { model: 'm', counts: {}, charge: 1 });
    const again = await reopened();
    expect(await again.findTask(account.id, (await made).task.id)).toBeDefined();
    expect(await again.findAccount(account.id)).toMatchObject({ spent: 1 });
    await again.close();
    await again.close();
    await expect(again.grant(account.id, 1)).rejects.toEqual(failureWith('store_unavailable', 503));
  });

  it('has all acknowledged tasks and charges, in their windows, after a crash', async () => {
    const now = () => Date.UTC(2026, 9, 24, 12);
    const { store, place, account } = await owned({ credits: 1000 * CREDIT, now });
    const windows = { timeZone: 'Europe/Berlin', day: 500 * CREDIT };
    const crew = { accountId: account.id, name: 'crew', budget: 500 * CREDIT, windows };
    const team = await store.createTeam(crew);
    const key = await store.createKey(keyFor(account, { teamId: team.id, windows }));
    const made: string[] = [];
    const copies: { copy: string; known: string[]; spent: number }[] = [];
    let [spent, sent] = [0, 0];
    await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        untilCrash(driver, async () => {
          // Some calls together and some apart, beside writes in progress.
          for (let turn = at % 7; turn > 0; turn -= 1) await setImmediate();
          if (at % 2 === 0) made.push((await store.createTask(taskFor(key))).task.id);
          const hold = await store.reserve(account.id, key.id, 2);
          sent += 1;
          await store.settle(hold, { model: `m${at % 3}`, counts: {}, charge: 1 });
          spent += 1;
          if (at % 40 !== 0) return;
          const known = { known: [...made], spent };
          copies.push({ copy: await crashed(driver, store, place), ...known });
        }),
      ),
    );
    if (driver.copyAsCrashed) {
      expect(spent).toBe(200);
      expect(store.health().fault).toBeNull();
      expect(store.health().journal?.checkpointFault ?? null).toBeNull();
    }
    expect(copies.length).toBeGreaterThan(0);
    for (const { copy, known, spent: least } of copies) {
      const left = await driver.open(copy, { now });
      const found = (await everyTask(left, account.id)).map(({ id }) => id);
      expect(known.filter((id) => !found.includes(id))).toEqual([]);
      const sums = (await left.findAccount(account.id))!;
      expect(sums.spent).toBeGreaterThanOrEqual(least);
      expect(sums.spent).toBeLessThanOrEqual(sent);
      const { spent, reserved } = sums;
      expect(await left.listTeams()).toMatchObject([{ spent, reserved }]);
      const rows = await left.listBudgetWindows();
      expect(rows).toMatchObject(rows.map(() => ({ spent, reserved, from: '2026-10-24' })));
      expect(rows).toHaveLength(2);
      expect(await findInconsistencies(left)).toEqual([]);
      await left.close();
    }
    await store.close();
  });

  describeAccounts(driver);
  describeSelection(driver);
  describeSessions(driver);
  describeConfigEntries(driver);
  describeRequests(driver);
  describeTags(driver);
  describeAlerts(driver);
  describeDocuments(driver);
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
