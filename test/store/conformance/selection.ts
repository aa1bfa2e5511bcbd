import { describe, expect, it } from 'vitest';
import { inParts } from '../../../src/store/selection.ts';
import { bothOf, failureWith, freshStore } from '../fresh-store.ts';
import { keyFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

/** Tests of parts of lists for every driver. */
export function describeSelection(driver: DriverFactory): void {
  describe('lists of accounts, keys and teams', () => {
    it('are read in parts in the order of creation, by identifier, and by account', async () => {
      const { store, reopened } = await freshStore(driver);
      const accounts = [];
      const keys = [];
      const teams = [];
      for (const name of ['zoe', 'ada', 'mia', 'bob', 'eve']) {
        const account = await store.createAccount({ name, plan: 'free', credits: 0 });
        accounts.push(account);
        teams.push(await store.createTeam({ accountId: account.id, name: 'crew', budget: null }));
        for (const _ of [1, 2]) keys.push(await store.createKey(keyFor(account)));
      }
      const last = accounts[4]!;
      keys.push(await store.createKey(keyFor(accounts[0]!)));
      const own = [keys[0]!, keys[1]!, keys[10]!];
      for await (const one of bothOf(store, reopened)) {
        const { id: first } = accounts[0]!;
        expect(await one.listAccounts({ limit: 2 })).toEqual(accounts.slice(0, 2));
        expect(await one.listAccounts({ limit: 0 })).toEqual([]);
        expect(await one.listAccounts({ after: accounts[2]!.id })).toEqual(accounts.slice(3));
        expect(await one.listAccounts({ after: last.id })).toEqual([]);
        for (const part of [1, 2, 5, 9]) {
          const read = [];
          for await (const account of inParts((s) => one.listAccounts(s), { part })) {
            read.push(account);
          }
          expect(read).toEqual(accounts);
        }
        expect(await one.listAccounts({ ids: [last.id, 'acct_x', first, last.id] })).toEqual([
          accounts[0],
          last,
        ]);
        expect(await one.listAccounts({ ids: [] })).toEqual([]);
        expect(await one.listKeys(first, { limit: 2 })).toEqual(own.slice(0, 2));
        expect(await one.listKeys(first, { limit: 2, after: own[1]!.id })).toEqual([own[2]]);
        expect(await one.listKeys(undefined, { limit: 3, after: own[1]!.id })).toEqual(
          keys.slice(2, 5),
        );
        expect(await one.listKeys(first, { ids: keys.map(({ id }) => id) })).toEqual(own);
        expect(await one.listTeams(undefined, { after: teams[3]!.id })).toEqual([teams[4]]);
        expect(await one.listTeams(last.id, { limit: 5 })).toEqual([teams[4]]);
      }
    });

    it('find keys by hint and by the beginning of an identifier', async () => {
      const { store, reopened } = await freshStore(driver);
      const account = await store.createAccount({ name: 'owner', plan: 'free', credits: 0 });
      const hints = ['sk-oriel-Ab3d…9xYz', 'or"e…\\"', 'same…hint', 'same…hint', '%…%'];
      const keys = [];
      for (const hint of hints) keys.push(await store.createKey(keyFor(account, { hint })));
      for await (const one of bothOf(store, reopened)) {
        for (const hint of hints) {
          const found = await one.matchKeys(hint, 10);
          expect(new Set(found)).toEqual(new Set(keys.filter((key) => key.hint === hint)));
        }
        for (const key of keys) {
          expect(await one.matchKeys(key.id, 10)).toEqual([key]);
          expect(await one.matchKeys(key.id.slice(0, -1), 10)).toEqual([key]);
        }
        expect(new Set(await one.matchKeys('key_', 10))).toEqual(new Set(keys));
        expect(await one.matchKeys('key_', 3)).toHaveLength(3);
        for (const unknown of [
          `${keys[0]!.id}0`,
          'key%',
          '____',
          'same…',
          "' OR 1=1 --",
          '\0\ud800',
        ]) {
          expect(await one.matchKeys(unknown, 10)).toEqual([]);
        }
      }
    });

    it('reject an element to begin after that is unknown, or of another account', async () => {
      const { store } = await freshStore(driver);
      const [one, other] = [
        await store.createAccount({ name: 'one', plan: 'free', credits: 0 }),
        await store.createAccount({ name: 'other', plan: 'free', credits: 0 }),
      ];
      const key = await store.createKey(keyFor(one));
      const team = await store.createTeam({ accountId: one.id, name: 'crew', budget: null });
      await expect(store.listAccounts({ after: 'acct_x' })).rejects.toEqual(
        failureWith('account_not_found', 404),
      );
      await expect(store.listKeys(other.id, { after: key.id })).rejects.toEqual(
        failureWith('key_not_found', 404),
      );
      await expect(store.listTeams(other.id, { after: team.id })).rejects.toEqual(
        failureWith('team_not_found', 404),
      );
    });
  });

  it('counts the keys of teams that are not revoked', async () => {
    const { store, reopened } = await freshStore(driver);
    const account = await store.createAccount({ name: 'one', plan: 'free', credits: 0 });
    const [crew, empty] = [
      await store.createTeam({ accountId: account.id, name: 'crew', budget: null }),
      await store.createTeam({ accountId: account.id, name: 'empty', budget: null }),
    ];
    await store.createKey(keyFor(account));
    for (const _ of [1, 2]) await store.createKey(keyFor(account, { teamId: crew.id }));
    const revoked = await store.createKey(keyFor(account, { teamId: crew.id }));
    await store.revokeKey(revoked.id);
    for await (const one of bothOf(store, reopened)) {
      expect(await one.countKeys([crew, empty])).toEqual(new Map([[crew.id, 2]]));
      expect(await one.countKeys([])).toEqual(new Map());
    }
  });

  it('lists the budget windows of some keys', async () => {
    const { store } = await freshStore(driver);
    const account = await store.createAccount({ name: 'one', plan: 'paid', credits: 100 });
    const windows = { timeZone: 'UTC', day: 9, week: 9 };
    const [key, other] = [
      await store.createKey(keyFor(account, { windows })),
      await store.createKey(keyFor(account, { windows })),
    ];
    for (const { id: keyId } of [key, other]) {
      await store.settle({ accountId: account.id, keyId }, { model: 'm', counts: {}, charge: 1 });
    }
    const found = await store.listBudgetWindows(undefined, [key.id]);
    expect(found).toMatchObject([
      { holderId: key.id, period: 'day', spent: 1 },
      { holderId: key.id, period: 'week', spent: 1 },
    ]);
    expect(await store.listBudgetWindows()).toHaveLength(4);
    expect(await store.listBudgetWindows('acct_x', [key.id])).toEqual([]);
  });
}
