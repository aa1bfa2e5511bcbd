import { describe, expect, it } from 'vitest';
import type { ApiKey, NewTeam, Team } from '../../../src/store/account.ts';
import { windowBalances } from '../../../src/store/budgets.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimOf, findInconsistencies } from '../consistency.ts';
import { bothOf, failureWith, freshStore, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { completionOf, keyFor, owner, taskFor } from '../records.ts';
import type { DriverFactory, OpenOptions } from './driver-factory.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Saturday. On the Sunday after it the clocks of Berlin go back. */
const NOON = Date.UTC(2026, 9, 24, 12);
const BERLIN = { timeZone: 'Europe/Berlin' };
const costing = (charge: number) => ({ model: 'm', counts: {}, charge });

const teamIn = (store: Store, accountId: string, change: Partial<NewTeam> = {}): Promise<Team> =>
  store.createTeam({ accountId, name: 'crew', budget: null, ...change });

/** Reserved and spent micro-credits of the windows of a key or a team. */
async function windowsOf(store: Store, holder: Pick<ApiKey, 'id' | 'windows'>, now: number) {
  const balances = windowBalances(holder, await store.listBudgetWindows(), now);
  return balances.map(({ period, reserved, spent }) => [period, reserved, spent]);
}

/** Tests of teams and of budgets by day, week and month for every driver. */
export function describeBudgets(driver: DriverFactory): void {
  const fresh = (options?: OpenOptions) => freshStore(driver, options);
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('window budgets', () => {
    it('refuse what exceeds them with name, limit and reset, and begin again at local midnight', async () => {
      let now = NOON;
      const { store } = await fresh({ now: () => now });
      const windows = { ...BERLIN, day: 10_000_000 };
      const { account, key } = await owner(store, 100_000_000, { name: 'builds', windows });
      const reserve = (amount: number) => store.reserve(account.id, key.id, amount);
      await store.settle(await reserve(8_000_000), costing(7_500_000));
      const refused = expect.objectContaining({
        code: 'key_window_exceeded',
        status: 402,
        message:
          'this may cost up to 3 credits, which are reserved until it ends; the daily budget of 10 credits ' +
          'of key builds has 2.5 left until it resets at 2026-10-24T22:00:00.000Z (the next day of Europe/Berlin)',
        retryAfter: (10 * HOUR) / 1000,
      });
      await expect(reserve(3_000_000)).rejects.toEqual(refused);
      const task = taskFor(key, { reservation: 3_000_000 });
      await expect(store.createTask(task)).rejects.toEqual(refused);
      now = NOON + 10 * HOUR - 1;
      await expect(reserve(3_000_000)).rejects.toEqual(failureWith('key_window_exceeded', 402));
      now += 1;
      await store.settle(await reserve(10_000_000), costing(10_000_000));
      now += 25 * HOUR - 1;
      await expect(reserve(1)).rejects.toEqual(failureWith('key_window_exceeded', 402));
      now += 1;
      await store.release(await reserve(10_000_000));
      // No later day has room for it either.
      await expect(reserve(10_000_001)).rejects.toMatchObject({
        code: 'key_window_exceeded',
        retryAfter: null,
      });
    });

    it('name the budget that resets last', async () => {
      const windows = { timeZone: 'UTC', day: 5, week: 6, month: 5 };
      const { store, account, key } = await owned({
        ...{ now: () => NOON, credits: 100, key: { windows }, isUnchecked: true },
      });
      await store.reserve(account.id, key.id, 5);
      await expect(store.reserve(account.id, key.id, 3)).rejects.toMatchObject({
        message: expect.stringContaining('the monthly budget of 0.000005 credits of key laptop'),
        retryAfter: (Date.UTC(2026, 10, 1) - NOON) / 1000,
      });
      await expect(store.reserve(account.id, key.id, 6)).rejects.toMatchObject({
        retryAfter: null,
      });
    });

    it('limit a charge above its reservation, and allow requests that cost nothing', async () => {
      const { store, account, key } = await owned({
        now: () => NOON,
        credits: 1000,
        key: { windows: { ...BERLIN, day: 10 } },
      });
      const hold = await store.reserve(account.id, key.id, 4);
      expect(await store.settle(hold, costing(50))).toBe(10);
      await store.release(await store.reserve(account.id, key.id, 0));
      await store.createTask(taskFor(key, { reservation: 0 }));
      expect(await windowsOf(store, key, NOON)).toEqual([['day', 0, 10]]);
    });

    it('keep two windows of each period', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const windows = { timeZone: 'UTC', day: 10, month: 1000 };
      const { account, key } = await owner(store, 1000, { windows });
      const { task } = await store.createTask(taskFor(key, { reservation: 5 }));
      for (let day = 0; day < 60; day += 1) {
        await store.settle(await store.reserve(account.id, key.id, 2), costing(1));
        now += DAY;
      }
      for await (const one of bothOf(store, reopened)) {
        const rows = await one.listBudgetWindows(account.id);
        const brief = rows.map(({ period, from, reserved }) => `${period} ${from} ${reserved}`);
        expect(brief.toSorted()).toEqual([
          // It has the reservation of a task.
          'day 2026-10-24 5',
          'day 2026-12-21 0',
          'day 2026-12-22 0',
          'month 2026-10-01 5',
          'month 2026-11-01 0',
          'month 2026-12-01 0',
        ]);
      }
      const again = await reopened();
      await again.expireTask(await claimOf(again, task.id));
    });
  });

  describe('teams', () => {
    it('share their budgets among their keys', async () => {
      const { store, reopened, account } = await owned({ now: () => NOON, credits: 1000 });
      const team = await teamIn(store, account.id, { budget: 20, windows: { ...BERLIN, day: 12 } });
      const [one, other] = [
        await store.createKey(keyFor(account, { teamId: team.id })),
        await store.createKey(keyFor(account, { teamId: team.id, budget: 9 })),
      ];
      await store.settle(await store.reserve(account.id, one.id, 8), costing(8));
      await expect(store.reserve(account.id, other.id, 5)).rejects.toMatchObject({
        code: 'team_window_exceeded',
        message: expect.stringContaining('credits of team crew has 0.000004 left'),
      });
      await store.createTask(taskFor(other, { reservation: 4 }));
      await store.updateTeam(team.id, { windows: null });
      await expect(store.reserve(account.id, one.id, 9)).rejects.toMatchObject({
        code: 'team_budget_exceeded',
        message: expect.stringContaining(
          'the budget of 0.00002 credits of team crew has 0.000008 left',
        ),
        retryAfter: null,
      });
      for await (const at of bothOf(store, reopened)) {
        expect(await at.listTeams(account.id)).toMatchObject([{ reserved: 4, spent: 8 }]);
        expect(await findInconsistencies(at)).toEqual([]);
      }
    });

    it('have names that are unique in the account until they are removed', async () => {
      const { store, account } = await owned();
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const team = await teamIn(store, account.id);
      const taken = failureWith('team_exists', 409);
      await expect(teamIn(store, account.id)).rejects.toEqual(taken);
      const second = await teamIn(store, account.id, { name: 'second' });
      await expect(store.updateTeam(second.id, { name: 'crew' })).rejects.toEqual(taken);
      await store.updateTeam(second.id, { name: 'second', budget: 3 });
      await teamIn(store, other.id);
      const key = await store.createKey(keyFor(account, { teamId: team.id }));
      const held = failureWith('team_has_keys', 409);
      await expect(store.removeTeam(team.id)).rejects.toEqual(held);
      await store.revokeKey(key.id);
      expect(await store.removeTeam(team.id)).toMatchObject({ removedAt: expect.any(Number) });
      await store.updateTeam(second.id, { name: 'crew' });
      const gone = failureWith('team_not_found', 404);
      await expect(store.removeTeam(team.id)).rejects.toEqual(gone);
      await expect(store.updateTeam(team.id, { name: 'x' })).rejects.toEqual(gone);
      expect(await store.listTeams(account.id)).toHaveLength(2);
      expect(await store.listTeams()).toHaveLength(3);
      await expect(teamIn(store, 'acct_none')).rejects.toEqual(
        failureWith('account_not_found', 404),
      );
    });

    it('are charged for what began before they were removed, also where another has the name', async () => {
      const { store, account } = await owned();
      const team = await teamIn(store, account.id);
      const key = await store.createKey(keyFor(account, { teamId: team.id }));
      const { task } = await store.createTask(taskFor(key, { reservation: 7 }));
      const request = await store.reserve(account.id, key.id, 5);
      await store.updateKey(key.id, { teamId: null });
      await store.removeTeam(team.id);
      await teamIn(store, account.id);
      expect(await store.settle(request, costing(4))).toBe(4);
      await store.claimTask(task.id);
      await store.completeTask(await claimOf(store, task.id), completionOf({ charge: 6 }));
      const teams = await store.listTeams(account.id);
      expect(teams.map(({ reserved, spent }) => [reserved, spent])).toEqual([
        [0, 10],
        [0, 0],
      ]);
    });

    it('are those of the account of the key', async () => {
      const { store, account, key } = await owned();
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const foreign = await teamIn(store, other.id);
      const gone = failureWith('team_not_found', 404);
      await expect(store.createKey(keyFor(account, { teamId: foreign.id }))).rejects.toEqual(gone);
      await expect(store.updateKey(key.id, { teamId: foreign.id })).rejects.toEqual(gone);
      await expect(store.updateKey(key.id, { teamId: 'team_none' })).rejects.toEqual(gone);
      expect(await store.listKeys(account.id)).toEqual([key]);
    });
  });

  describe('a change of a key', () => {
    it('replaces the given fields alone, and is refused for a revoked key', async () => {
      const { store, reopened, key } = await owned({
        credits: 100,
        key: { models: ['a'], allow: ['mcp'], budget: 5 },
      });
      const change = { name: 'desk', expiresAt: 4_000_000_000_000, rpm: 7, models: null };
      expect(await store.updateKey(key.id, change)).toEqual({ ...key, ...change });
      const { allow: _, ...rest } = { ...key, ...change };
      expect(await store.updateKey(key.id, { allow: null, budget: null })).toEqual({
        ...rest,
        budget: null,
      });
      const again = await reopened();
      expect((await again.findKey(key.hash))!.key).toEqual({ ...rest, budget: null });
      await again.revokeKey(key.id);
      await expect(again.updateKey(key.id, { name: 'x' })).rejects.toEqual(
        failureWith('key_revoked', 409),
      );
      await expect(again.updateKey('key_none', {})).rejects.toEqual(
        failureWith('key_not_found', 404),
      );
    });

    it.each([
      [{ budget: 0.5 }],
      [{ windows: { timeZone: 'UTC', day: -1 } }],
      [{ windows: { timeZone: 'Mars/Olympus', day: 1 } }],
      [{ windows: { timeZone: '+01:00', day: 1 } }],
    ])('is refused with %j', async (change) => {
      const { store, account, key } = await owned();
      const refused = expect.objectContaining({ type: 'invalid_request', status: 400 });
      await expect(store.updateKey(key.id, change)).rejects.toEqual(refused);
      await expect(store.createKey(keyFor(account, change))).rejects.toEqual(refused);
      await expect(teamIn(store, account.id, change)).rejects.toEqual(refused);
      expect(await store.listKeys()).toEqual([key]);
    });
  });

  it('deletes usage before a day', async () => {
    let now = NOON;
    const { store, reopened, account, key } = await owned({
      ...{ now: () => now, credits: 100, isUnchecked: true },
    });
    for (let day = 0; day < 3; day += 1) {
      const payer = { accountId: account.id, keyId: key.id };
      await store.settle(payer, costing(1));
      await store.settle(payer, { ...costing(2), tags: 'run=1' });
      now += DAY;
    }
    expect(await store.deleteUsage('2026-10-24')).toBe(0);
    expect(await store.deleteUsage('2026-10-26')).toBe(4);
    for await (const one of bothOf(store, reopened)) {
      const usage = await one.listUsage(account.id, { from: '2026-01-01', to: '2026-12-31' });
      expect(usage.toSorted((a, b) => a.spent - b.spent)).toMatchObject([
        { day: '2026-10-26', keyId: key.id, spent: 1 },
        { day: '2026-10-26', keyId: key.id, spent: 2, tags: 'run=1' },
      ]);
    }
  });
}
