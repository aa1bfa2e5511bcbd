import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ApiKey, Team } from '../../../src/store/account.ts';
import type { Reservation } from '../../../src/store/budgets.ts';
import { PERIODS } from '../../../src/store/calendar.ts';
import type { Store } from '../../../src/store/store.ts';
import { memoryFolder } from '../../oriel.ts';
import { runs } from '../../runs.ts';
import { findInconsistencies } from '../consistency.ts';
import { completionOf, keyFor, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const ZONES = ['Europe/Berlin', 'America/Havana', 'Pacific/Apia', 'UTC'];
const HOUR = 3_600_000;

const step = fc.record({
  method: fc.constantFrom(
    ...(['hold', 'hold', 'hold', 'create', 'create', 'settle', 'settle', 'settle'] as const),
    ...(['end', 'end', 'release', 'reopen', 'limit', 'limit', 'move', 'limit team'] as const),
  ),
  which: fc.nat(9),
  amount: fc.integer({ min: 1, max: 30 }),
  /** Hours until the call. The clock also goes back. */
  hours: fc.constantFrom(0, 0, 1, 5, 13, 26, 24 * 8, -2),
});

/** Local date by another way than that of the store. */
const localDate = (timeZone: string, at: number) =>
  new Date(at).toLocaleDateString('sv-SE', { timeZone });

/** First date of the window at a time. No clock of ZONES goes back over midnight. */
function firstDate(timeZone: string, period: (typeof PERIODS)[number], at: number): string {
  const date = localDate(timeZone, at);
  if (period === 'month') return `${date.slice(0, 7)}-01`;
  if (period === 'day') return date;
  const time = Date.parse(date);
  const monday = new Date(time - ((new Date(time).getUTCDay() + 6) % 7) * 24 * HOUR);
  return monday.toISOString().slice(0, 10);
}

type Holder = Pick<ApiKey | Team, 'id' | 'windows'>;

/** What each window has reserved and spent, counted beside the store. */
class Model {
  readonly used = new Map<string, { reserved: number; spent: number }>();

  idsOf(holders: readonly Holder[], at: number): { id: string; limit: number }[] {
    return holders.flatMap(({ id, windows }) =>
      PERIODS.flatMap((period) => {
        const limit = windows?.[period];
        if (limit === undefined) return [];
        return { id: `${id}/${period}/${firstDate(windows!.timeZone, period, at)}`, limit };
      }),
    );
  }

  of(id: string) {
    return this.used.get(id) ?? { reserved: 0, spent: 0 };
  }

  move(ids: readonly string[], reserved: number, spent: number): void {
    for (const id of ids) {
      const { reserved: held, spent: paid } = this.of(id);
      this.used.set(id, { reserved: held + reserved, spent: paid + spent });
    }
  }
}

/** Random reservations and charges over windows: the store allows and counts what a model does. */
export function describeBudgetProperties(driver: DriverFactory): void {
  it('keeps a window while a reservation of a request is open in it', async () => {
    let now = Date.UTC(2026, 9, 20, 7, 30);
    const store = await driver.open(memoryFolder(), { now: () => now });
    const account = await store.createAccount({ name: 'a', plan: 'paid', credits: 10_000 });
    const key = await store.createKey(keyFor(account, { windows: { timeZone: 'UTC', day: 40 } }));
    const spend = async (hold: Promise<Reservation>) =>
      store.settle(await hold, { model: 'm', counts: {}, charge: 10 });
    const early = store.reserve(account.id, key.id, 10);
    // In the window of the first day, even if the database is slow.
    await early;
    for (const _ of [20, 21, 22]) {
      await spend(store.reserve(account.id, key.id, 10));
      const { task } = await store.createTask(taskFor(key, { reservation: 1 }));
      const claim = (await store.claimTask(task.id))!;
      await store.completeTask(claim, completionOf({ charge: 1 }));
      now += 24 * HOUR;
    }
    const windows = await store.listBudgetWindows();
    const first = windows.find(({ from }) => from === '2026-10-20');
    expect(first).toMatchObject({ reserved: 10, spent: 11 });
    await spend(early);
    expect(await store.findAccount('a')).toMatchObject({ reserved: 0, spent: 43 });
    await store.close();
  });

  it('counts in the windows of the reservation, also where budgets and teams of keys change', async () => {
    const steps = fc.array(step, { minLength: 5, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(...ZONES), async (calls, timeZone) => {
        const folder = memoryFolder();
        let now = Date.UTC(2026, 9, 20, 7, 30);
        let store: Store = await driver.open(folder, { now: () => now });
        const account = await store.createAccount({ name: 'a', plan: 'paid', credits: 10_000 });
        const windows = { timeZone, day: 40, week: 90 };
        let team = await store.createTeam({
          accountId: account.id,
          name: 'crew',
          budget: null,
          windows: { timeZone: 'Asia/Tokyo', day: 60, month: 200 },
        });
        const inTeam = { teamId: team.id };
        const keys = [
          await store.createKey(keyFor(account, { ...inTeam, windows })),
          await store.createKey(keyFor(account, inTeam)),
        ];
        const model = new Model();
        let holds: { hold: Reservation; ids: string[] }[] = [];
        const tasks: { id: string; amount: number; ids: string[] }[] = [];
        for (const { method, which, amount, hours } of calls) {
          now += hours * HOUR;
          const key = keys[which % 2]!;
          const limits = model.idsOf(key.teamId ? [key, team] : [key], now);
          const ids = limits.map(({ id }) => id);
          const fits = limits.every(({ id, limit }) => {
            const { reserved, spent } = model.of(id);
            return reserved + spent + amount <= limit;
          });
          if (method === 'hold' || method === 'create') {
            const made =
              method === 'hold'
                ? store.reserve(account.id, key.id, amount)
                : store.createTask(taskFor(key, { reservation: amount }));
            const result = await made.catch((error: { code: string }) => {
              expect(error.code).toMatch(/^(key|team)_window_exceeded$/);
              return undefined;
            });
            expect(result !== undefined).toBe(fits);
            if (!result) continue;
            model.move(ids, amount, 0);
            if ('task' in result) tasks.push({ id: result.task.id, amount, ids });
            else holds.push({ hold: result, ids });
          } else if (method === 'settle' || method === 'release') {
            const held = holds.shift();
            if (!held) continue;
            model.move(held.ids, -held.hold.amount, 0);
            if (method === 'release') await store.release(held.hold);
            else {
              const charge = Math.min(amount, held.hold.amount);
              const metered = { model: 'm', counts: {}, charge };
              expect(await store.settle(held.hold, metered)).toBe(charge);
              model.move(held.ids, 0, charge);
            }
          } else if (method === 'end') {
            const task = tasks.shift();
            if (!task) continue;
            const charge = Math.min(amount, task.amount);
            const claim = (await store.claimTask(task.id))!;
            await store.completeTask(claim, completionOf({ charge }));
            model.move(task.ids, -task.amount, charge);
          } else if (method === 'limit') {
            const changed = { windows: { timeZone, day: amount * 2, week: 90 } };
            keys[which % 2] = await store.updateKey(key.id, changed);
          } else if (method === 'move') {
            const teamId = key.teamId ? null : team.id;
            keys[which % 2] = await store.updateKey(key.id, { teamId });
          } else if (method === 'limit team') {
            const changed = { timeZone: 'Asia/Tokyo', day: amount * 3, month: 200 };
            team = await store.updateTeam(team.id, { windows: changed });
          } else {
            await store.close();
            for (const { hold, ids: held } of holds) model.move(held, -hold.amount, 0);
            holds = [];
            store = await driver.open(folder, { now: () => now });
          }
          for (const { id, reserved, spent } of await store.listBudgetWindows()) {
            expect({ id, reserved, spent }).toEqual({ id, ...model.of(id) });
          }
        }
        const open = holds.map(({ hold }) => hold);
        expect(await findInconsistencies(store, open)).toEqual([]);
        await store.close();
      }),
      { numRuns: runs(20), endOnFailure: true },
    );
  });
}
