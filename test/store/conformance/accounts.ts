import { describe, expect, it } from 'vitest';
import { bothOf, failureWith, freshStore, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { CREDIT, keyFor, newAsset, owner, taskFor } from '../records.ts';
import type { DriverFactory, OpenOptions } from './driver-factory.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const ALL_DAYS = { from: '2026-01-01', to: '2026-12-31' };

/** Tests of accounts and keys for every driver. */
export function describeAccounts(driver: DriverFactory): void {
  const fresh = (options?: OpenOptions) => freshStore(driver, options);
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('accounts', () => {
    it('finds accounts by identifier and name, and lists them in the order of creation', async () => {
      const { store, reopened } = await fresh();
      const names = ['ada', 'bob', 'Ada', 'ünï ¢ode'];
      const made = [];
      for (const name of names) {
        made.push(await store.createAccount({ name, plan: 'free', credits: 5 }));
      }
      for await (const one of bothOf(store, reopened)) {
        expect(await one.listAccounts()).toEqual(made);
        for (const account of made) {
          expect(await one.findAccount(account.id)).toEqual(account);
          expect(await one.findAccount(account.name)).toEqual(account);
        }
        expect(await one.findAccount('unknown')).toBeUndefined();
        expect(await one.findAccount('__proto__')).toBeUndefined();
      }
      expect(new Set(made.map(({ id }) => id)).size).toBe(4);
      expect(made[0]).toMatchObject({ granted: 5, reserved: 0, spent: 0, plan: 'free' });
      expect(made[0]!.id).toMatch(/^acct_[0-9A-Za-z]{17,}$/);
      expect(made[0]!.callbackSecret).toMatch(/^whsec_[0-9A-Za-z+/]{32,43}={0,2}$/);
    });

    it('rejects a name that exists, also of concurrent calls', async () => {
      const { store } = await fresh();
      const account = { name: 'ada', plan: 'free', credits: 0 } as const;
      const both = await Promise.allSettled([
        store.createAccount(account),
        store.createAccount(account),
      ]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      await expect(store.createAccount(account)).rejects.toEqual(
        failureWith('account_exists', 409),
      );
      expect(await store.listAccounts()).toHaveLength(1);
    });

    it('grants credits and sets plans', async () => {
      const { store, reopened, account } = await owned({ credits: 0 });
      expect(await store.grant(account.id, 3, 'welcome')).toMatchObject({ granted: 3 });
      expect(await store.setPlan(account.id, 'free')).toMatchObject({ plan: 'free', granted: 3 });
      const again = await reopened();
      expect(await again.findAccount('owner')).toMatchObject({ plan: 'free', granted: 3 });
      expect(await again.listLedger(account.id, { limit: 9 })).toMatchObject([
        { type: 'grant', amount: 3, note: 'welcome', available: 3, taskId: null },
      ]);
    });

    it('rotates the callback secret and keeps the previous one', async () => {
      const { store, reopened, account } = await owned({ credits: 0 });
      const first = account.callbackSecret;
      const second = await store.rotateCallbackSecret(account.id, false);
      expect(second.callbackSecret).toMatch(/^whsec_/);
      expect(second.callbackSecret).not.toBe(first);
      const replacedAt = expect.any(Number);
      expect(second.previousSecret).toEqual({ secret: first, replacedAt });
      const again = await reopened();
      expect(await again.findAccount('owner')).toEqual(second);
      const third = await again.rotateCallbackSecret(account.id, true);
      expect(third).toMatchObject({ previousSecret: null });
      await expect(again.rotateCallbackSecret('acct_x', true)).rejects.toEqual(
        failureWith('account_not_found', 404),
      );
    });

    it.each([-1, 0.5, NaN, Infinity, 1_000_000_001 * CREDIT])('rejects %s credits', async (sum) => {
      const { store, account } = await owned({ credits: 1 });
      const refused = expect.objectContaining({ type: 'invalid_request', status: 400 });
      await expect(store.grant(account.id, sum)).rejects.toEqual(refused);
      const other = store.createAccount({ name: 'other', plan: 'free', credits: sum });
      await expect(other).rejects.toEqual(refused);
      expect(await store.listAccounts()).toMatchObject([{ granted: 1 }]);
    });

    it('rejects grants above the maximum of an account', async () => {
      const { store, account } = await owned({ credits: 1_000_000_000 * CREDIT });
      await expect(store.grant(account.id, 1)).rejects.toMatchObject({ param: 'credits' });
    });

    it('rejects unknown accounts with 404', async () => {
      const { store, key, account } = await owned();
      const gone = failureWith('account_not_found', 404);
      await expect(store.grant('acct_x', 1)).rejects.toEqual(gone);
      await expect(store.setPlan('acct_x', 'free')).rejects.toEqual(gone);
      await expect(store.createKey(keyFor({ ...account, id: 'acct_x' }))).rejects.toEqual(gone);
      await expect(store.createTask(taskFor(key, { accountId: 'acct_x' }))).rejects.toEqual(gone);
      await expect(store.reserve('acct_x', key.id, 1)).rejects.toEqual(gone);
      expect(await store.listLedger('acct_x', { limit: 9 })).toEqual([]);
      expect(await store.listUsage('acct_x', ALL_DAYS)).toEqual([]);
    });
  });

  describe('timeRange', () => {
    it('reaches from the first account to the last record', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      expect(await store.timeRange()).toBeNull();
      const { account, key } = await owner(store);
      expect(await store.timeRange()).toEqual({ from: NOON, to: NOON });
      const spansTo = async (change: () => Promise<unknown>) => {
        now += 1;
        await change();
        expect(await store.timeRange()).toEqual({ from: NOON, to: now });
      };
      await spansTo(() => store.createKey(keyFor(account)));
      await spansTo(() => store.grant(account.id, 1));
      const { task } = await store.createTask(taskFor(key));
      await spansTo(() => store.claimTask(task.id));
      await spansTo(() => store.addUpload(account.id, newAsset(), 1000));
      await spansTo(() => store.createAccount({ name: 'b', plan: 'free', credits: 0 }));
      now = 5;
      expect(await (await reopened()).timeRange()).toEqual({ from: NOON, to: NOON + 5 });
    });
  });

  describe('keys', () => {
    it('finds keys by their hash, with their account', async () => {
      const { store, reopened, account, key } = await owned({
        credits: 7,
        key: {
          models: ['a', 'b'],
          rpm: 3,
          budget: 5,
          expiresAt: 99,
        },
      });
      const other = await store.createKey(keyFor(account, { name: 'other' }));
      expect(key).toMatchObject({ models: ['a', 'b'], rpm: 3, budget: 5, expiresAt: 99 });
      for await (const one of bothOf(store, reopened)) {
        expect(await one.findKey(key.hash)).toEqual({ key, account });
        expect(await one.findKey('0')).toBeUndefined();
        expect(await one.listKeys()).toEqual([key, other]);
        expect(await one.listKeys(account.id)).toEqual([key, other]);
        expect(await one.listKeys('acct_x')).toEqual([]);
      }
    });

    it('rejects a hash that exists', async () => {
      const { store, account, key } = await owned();
      const again = store.createKey(keyFor(account, { hash: key.hash }));
      await expect(again).rejects.toEqual(failureWith('key_exists', 409));
    });

    it('keeps the time of the first revocation', async () => {
      let now = NOON;
      const { store, reopened, key } = await owned({ now: () => now });
      expect(await store.revokeKey(key.id)).toMatchObject({ revokedAt: NOON });
      now += 1;
      expect(await store.revokeKey(key.id)).toMatchObject({ revokedAt: NOON });
      const again = await reopened();
      expect((await again.findKey(key.hash))?.key.revokedAt).toBe(NOON);
      await expect(again.revokeKey('key_x')).rejects.toEqual(failureWith('key_not_found', 404));
    });

    it('rejects a key of another account', async () => {
      const { store, key } = await owned();
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 9 });
      const foreign = { accountId: other.id, keyId: key.id };
      const gone = failureWith('key_not_found', 404);
      await expect(store.createTask(taskFor(key, foreign))).rejects.toEqual(gone);
      await expect(store.reserve(other.id, key.id, 1)).rejects.toEqual(gone);
      const metered = { model: 'm', counts: {}, charge: 1 };
      await expect(store.settle(foreign, metered)).rejects.toEqual(gone);
    });
  });
}
