import { describe, expect, it } from 'vitest';
import { availableOf } from '../../../src/store/credits.ts';
import { claimOf, findInconsistencies } from '../consistency.ts';
import { bothOf, failureWith, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { completionOf, keyFor, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 21, 12);
const ALL_DAYS = { from: '2026-01-01', to: '2026-12-31' };

/** Tests of credits, reservations and the ledger for every driver. */
export function describeCredits(driver: DriverFactory): void {
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('credits', () => {
    it('are reserved by one of many concurrent calls when they suffice for one', async () => {
      const { store, account, key } = await owned({ credits: 10 });
      const tries = await Promise.allSettled([
        ...Array.from({ length: 5 }, () => store.createTask(taskFor(key, { reservation: 7 }))),
        ...Array.from({ length: 5 }, () => store.reserve(account.id, key.id, 7)),
      ]);
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const tried of tries) {
        if (tried.status === 'rejected') {
          expect(tried.reason).toEqual(failureWith('insufficient_credits', 402));
        }
      }
      const found = await store.findAccount(account.id);
      expect(availableOf(found!)).toBe(3);
    });

    it('are limited by the budget of the key', async () => {
      const { store, account, key } = await owned({ credits: 100, key: { budget: 10 } });
      const { task } = await store.createTask(taskFor(key, { reservation: 6 }));
      const over = failureWith('key_budget_exceeded', 402);
      await expect(store.createTask(taskFor(key, { reservation: 5 }))).rejects.toEqual(over);
      await expect(store.reserve(account.id, key.id, 5)).rejects.toEqual(over);
      const claim = (await store.claimTask(task.id))!;
      await store.completeTask(claim, completionOf({ charge: 1 }));
      const hold = await store.reserve(account.id, key.id, 9);
      await expect(store.reserve(account.id, key.id, 1)).rejects.toEqual(over);
      expect(await store.settle(hold, { model: 'm', counts: {}, charge: 20 })).toBe(9);
    });

    it('are not needed for free tasks and requests', async () => {
      const { store, account, key } = await owned({ credits: 0 });
      const { task } = await store.createTask(taskFor(key, { reservation: 0 }));
      await store.claimTask(task.id);
      await store.completeTask(
        await claimOf(store, task.id),
        completionOf({ counts: { outputs: 1 } }),
      );
      const hold = await store.reserve(account.id, key.id, 0);
      expect(await store.settle(hold, { model: 'm', counts: { outputs: 2 }, charge: 0 })).toBe(0);
      expect(await store.listLedger(account.id, { limit: 9 })).toEqual([]);
      expect(await store.listUsage(account.id, ALL_DAYS)).toHaveLength(2);
    });
  });

  describe('reservations of requests', () => {
    it('are part of `reserved`, and end once', async () => {
      const { store, account, key } = await owned({ credits: 10 });
      const hold = await store.reserve(account.id, key.id, 8);
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 8, spent: 0 });
      expect(await store.listKeys(account.id)).toMatchObject([{ reserved: 8 }]);
      expect((await store.statistics()).credits.reserved).toBe(8);
      expect(await findInconsistencies(store, [hold])).toEqual([]);
      await store.release(hold);
      await store.release(hold);
      expect(await store.settle(hold, { model: 'm', counts: {}, charge: 5 })).toBe(0);
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 0, spent: 0 });
      const other = await store.reserve(account.id, key.id, 8);
      expect(await store.settle(other, { model: 'm', counts: {}, charge: 5 })).toBe(5);
      expect(await store.settle(other, { model: 'm', counts: {}, charge: 5 })).toBe(0);
      await store.release(other);
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 0, spent: 5 });
    });

    it('limit a charge above them to what is available', async () => {
      const { store, account, key, payer: none } = await owned({ credits: 10 });
      const [one, other] = [
        await store.reserve(account.id, key.id, 4),
        await store.reserve(account.id, key.id, 4),
      ];
      expect(await store.settle(one, { model: 'm', counts: {}, charge: 9 })).toBe(6);
      expect(await store.settle(other, { model: 'm', counts: {}, charge: 4 })).toBe(4);
      expect(await store.settle(none, { model: 'm', counts: {}, charge: 4 })).toBe(0);
    });

    it('end with the process', async () => {
      const { store, reopened, account, key } = await owned({ credits: 10 });
      await store.reserve(account.id, key.id, 10);
      const again = await reopened();
      expect(await again.findAccount(account.id)).toMatchObject({ reserved: 0 });
    });

    it('become ledger entries and usage by key, model and day', async () => {
      let now = NOON;
      const {
        store,
        reopened,
        account,
        payer: holder,
      } = await owned({ now: () => now, credits: 100 });
      const written = { cacheWriteTokens: 3, cacheWrite1hTokens: 1 };
      const counts = { inputTokens: 10, cachedInputTokens: 4, ...written, outputTokens: 2 };
      await store.settle(holder, { model: 'a', counts, charge: 1 });
      await store.settle(holder, { model: 'b', counts, charge: 2 });
      const again = await reopened();
      await again.settle(holder, { model: 'a', counts: { ...counts, requests: 3 }, charge: 4 });
      now += DAY;
      await again.settle(holder, { model: 'a', counts, charge: 8 });
      now -= DAY;
      await again.settle(holder, { model: 'b', counts, charge: 16 });
      const entries = await again.listLedger(account.id, { limit: 9 });
      expect(
        entries.map(({ type, model, requests, amount }) => [type, model, requests, amount]),
      ).toEqual([
        ['charge', 'a', 1, 8],
        ['charge', 'b', 2, 18],
        ['charge', 'a', 4, 5],
        ['grant', null, null, 100],
      ]);
      const usage = await again.listUsage(account.id, { from: '2026-11-21', to: '2026-11-21' });
      expect(usage).toMatchObject([
        {
          model: 'a',
          requests: 4,
          inputTokens: 20,
          cachedInputTokens: 8,
          cacheWriteTokens: 6,
          cacheWrite1hTokens: 2,
          outputTokens: 4,
          spent: 5,
        },
        { model: 'b', requests: 2, errors: 0, spent: 18 },
      ]);
      await again.settle(holder, { model: 'b', counts: { requests: 0, errors: 1 }, charge: 0 });
      const [, failed] = await again.listUsage(account.id, {
        from: '2026-11-21',
        to: '2026-11-21',
      });
      expect(failed).toMatchObject({ model: 'b', requests: 2, errors: 1, spent: 18 });
      expect(await again.listLedger(account.id, { limit: 9 })).toHaveLength(4);
      expect(await again.listUsage(account.id, ALL_DAYS)).toHaveLength(3);
      const second = await again.createAccount({ name: 'second', plan: 'paid', credits: 1 });
      const other = await again.createKey(keyFor(second));
      const payer = { accountId: second.id, keyId: other.id };
      await again.settle(payer, { model: 'c', counts, charge: 1 });
      const models = (await again.listUsage(undefined, ALL_DAYS)).map(({ model }) => model);
      expect(models.sort()).toEqual(['a', 'a', 'b', 'c']);
    });
  });

  describe('the ledger', () => {
    it('is listed in pages, newest first', async () => {
      const { store, account } = await owned({ credits: 1 });
      for (let n = 0; n < 5; n += 1) await store.grant(account.id, 1, `${n}`);
      const page = await store.listLedger(account.id, { limit: 2 });
      expect(page.map(({ note }) => note)).toEqual(['4', '3']);
      const next = await store.listLedger(account.id, { limit: 9, after: page[1]!.id });
      expect(next.map(({ note }) => note)).toEqual(['2', '1', '0', null]);
      expect(await store.listLedger(account.id, { limit: 0 })).toEqual([]);
    });

    it('is compacted before a time, and continues', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now, credits: 100 });
      const { task } = await store.createTask(taskFor(key, { reservation: 30 }));
      await store.settle(
        { accountId: account.id, keyId: key.id },
        { model: 'm', counts: {}, charge: 7 },
      );
      // Drivers book charges together, at the latest when they are read.
      expect(await store.listLedger(account.id, { limit: 9 })).toHaveLength(3);
      now += DAY;
      const claim = (await store.claimTask(task.id))!;
      await store.completeTask(claim, completionOf({ charge: 10 }));
      await store.compactLedger(account.id, { before: NOON + 1, lines: 100 });
      for await (const one of bothOf(store, reopened)) {
        const entries = await one.listLedger(account.id, { limit: 9 });
        expect(entries).toMatchObject([
          { type: 'release', amount: 20, available: 83 },
          { type: 'charge', amount: 10, available: 63 },
          { type: 'carried', amount: 63, available: 63, at: NOON },
        ]);
        expect(await findInconsistencies(one)).toEqual([]);
      }
    });

    it('is compacted when it exceeds the number of lines by a tenth', async () => {
      const { store, reopened, account } = await owned({ credits: 1 });
      const grant = () => store.grant(account.id, 1);
      const fold = () => store.compactLedger(account.id, { lines: 10 });
      while ((await store.listLedger(account.id, { limit: 99 })).length < 11) await grant();
      await fold();
      expect(await store.listLedger(account.id, { limit: 99 })).toHaveLength(11);
      await grant();
      await fold();
      for await (const one of bothOf(store, reopened)) {
        const entries = await one.listLedger(account.id, { limit: 99 });
        // The kept lines, and the carried entry in the place of all before them.
        expect(entries.map(({ type }) => type)).toEqual([...Array(10).fill('grant'), 'carried']);
        expect(entries.at(-1)).toMatchObject({ amount: 2, available: 2 });
        expect(await findInconsistencies(one)).toEqual([]);
      }
    });

    it('is not compacted to a negative sum', async () => {
      let now = NOON;
      const { store, account, payer: holder } = await owned({ now: () => now, credits: 10 });
      await store.settle(holder, { model: 'm', counts: {}, charge: 8 });
      // The clock is set forward and back: the day's sum grows by charges that the later grant paid for.
      now += DAY;
      await store.grant(account.id, 100);
      now -= DAY;
      await store.settle(holder, { model: 'm', counts: {}, charge: 50 });
      await store.compactLedger(account.id, { before: NOON + 1, lines: 100 });
      const entries = await store.listLedger(account.id, { limit: 9 });
      expect(entries.map(({ type }) => type)).toEqual(['grant', 'charge', 'grant']);
    });
  });
}
