import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Payer } from '../../../src/store/budgets.ts';
import { utcDayOf } from '../../../src/store/ledger.ts';
import type { Store } from '../../../src/store/store.ts';
import { OTHER_TAGS } from '../../../src/store/tags.ts';
import { sumUsage } from '../../../src/store/usage-report.ts';
import { runs } from '../../runs.ts';
import { findInconsistencies } from '../consistency.ts';
import { crashed, ownedStore } from '../fresh-store.ts';
import { CREDIT, completionOf, keyFor, newAsset, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const ALL_DAYS = { from: '0000-01-01', to: '9999-12-31' };

/** A request of one of two keys, before or after midnight. */
interface Use {
  readonly isTask: boolean;
  readonly other: boolean;
  readonly tags: string;
  readonly charge: number;
  readonly day: 0 | 1;
}

const use: fc.Arbitrary<Use> = fc.record({
  isTask: fc.boolean(),
  other: fc.boolean(),
  tags: fc.constantFrom('', 'run=1', 'run=2', 'run=1,step=a', 'run=3', 'step=a', 'step=b'),
  charge: fc.nat(9),
  day: fc.constantFrom(0, 1),
});

async function charge(store: Store, payer: Payer, { tags, charge, isTask }: Use): Promise<void> {
  const counts = { inputTokens: charge, requests: 1 };
  if (!isTask) {
    await store.settle(payer, { model: 'm', counts, charge, tags });
    return;
  }
  const { accountId, keyId: id } = payer;
  const key = (await store.listKeys(accountId)).find((one) => one.id === id)!;
  const { task } = await store.createTask(taskFor(key, tags === '' ? {} : { tags }));
  const claim = (await store.claimTask(task.id))!;
  await store.completeTask(claim, completionOf({ charge, counts, assets: [newAsset()] }));
}

export function describeTags(driver: DriverFactory): void {
  describe('tags', () => {
    it('of charges and tasks outlive a crash, and a task is charged under its own', async () => {
      const { store, place, account, key, payer } = await ownedStore(driver, { isUnchecked: true });
      const { task } = await store.createTask(taskFor(key, { tags: 'run=7' }));
      const counts = { inputTokens: 3 };
      await store.settle(payer, { model: 'm', counts, charge: 5, tags: 'run=7' });
      await store.settle(payer, { model: 'm', counts, charge: 6 });
      const copy = await driver.open(await crashed(driver, store, place));
      const claim = (await copy.claimTask(task.id))!;
      await copy.completeTask(claim, completionOf({ charge: 9 }));
      const rows = await copy.listUsage(account.id, ALL_DAYS);
      expect(rows.map(({ tags = '', spent }) => [tags, spent]).sort()).toEqual([
        ['', 6],
        ['run=7', 5],
        ['run=7', 9],
      ]);
      expect(await findInconsistencies(copy)).toEqual([]);
      await copy.close();
    });

    it('beyond the limit of a day are one row, and no sum changes', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(use, { minLength: 1, maxLength: 16 }),
          fc.nat(4),
          fc.boolean(),
          async (uses, tagSets, reopens) => {
            let now = Date.UTC(2026, 10, 21, 12);
            const fresh = await ownedStore(driver, { tagSets, now: () => now });
            const { account, key, reopened } = fresh;
            let { store } = fresh;
            const second = await store.createKey(keyFor(account));
            const ordered = uses.toSorted((one, two) => one.day - two.day);
            for (const [index, one] of ordered.entries()) {
              now = Date.UTC(2026, 10, 21 + one.day, 12);
              if (reopens && index === Math.floor(ordered.length / 2)) store = await reopened();
              const keyId = (one.other ? second : key).id;
              await charge(store, { accountId: account.id, keyId }, one);
            }
            const rows = await store.listUsage(account.id, ALL_DAYS);
            const report = (by: Parameters<typeof sumUsage>[1]['by']) =>
              sumUsage(rows, { by, filter: {}, maxRows: 1000 });
            const { total } = await report([]);
            expect(total).toMatchObject({
              requests: uses.length,
              spent: uses.reduce((sum, one) => sum + one.charge, 0),
            });
            for (const by of [['tag:run'], ['tag:step', 'tag:run'], ['key', 'tag:run']] as const) {
              const { sums } = await report(by);
              expect(sums.reduce((sum, one) => sum + one.requests, 0)).toBe(total.requests);
              expect(sums.reduce((sum, one) => sum + one.spent, 0)).toBe(total.spent);
            }
            for (const day of new Set(rows.map((row) => row.day))) {
              const ofDay = ordered.filter(
                (one) => utcDayOf(Date.UTC(2026, 10, 21 + one.day)) === day,
              );
              const counted = new Map<string, number>();
              for (const { day: its, tags = '', requests } of rows) {
                if (its === day) counted.set(tags, (counted.get(tags) ?? 0) + requests);
              }
              const kept = [...counted.keys()].filter((tags) => tags !== '' && tags !== OTHER_TAGS);
              const named = new Set(ofDay.map(({ tags }) => tags).filter(Boolean));
              expect(kept).toHaveLength(Math.min(tagSets, named.size));
              for (const tags of ['', ...kept]) {
                const own = ofDay.filter((one) => one.tags === tags);
                expect(counted.get(tags) ?? 0).toBe(own.length);
              }
            }
          },
        ),
        { numRuns: runs(40) },
      );
    });

    it.runIf(driver.openAnother)('of all nodes count for one limit', async () => {
      const tagSets = 5;
      const { store, place, account, payer } = await ownedStore(driver, { tagSets });
      const other = await driver.openAnother!(place, { tagSets });
      await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (index % 2 ? store : other).settle(payer, {
            ...{ model: 'm', counts: {}, charge: 1, tags: `run=${index}` },
          }),
        ),
      );
      await other.close();
      const rows = await store.listUsage(account.id, ALL_DAYS);
      const sets = rows.map(({ tags }) => tags);
      expect(sets).toHaveLength(tagSets + 1);
      expect(rows.find(({ tags }) => tags === OTHER_TAGS)!.requests).toBe(40 - tagSets);
      expect(rows.reduce((sum, { spent }) => sum + spent, 0)).toBe(40);
      expect((await store.findAccount(account.id))!.granted).toBe(100 * CREDIT);
    });
  });
}
