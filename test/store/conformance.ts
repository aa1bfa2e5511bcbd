import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { availableOf } from '../../src/store/credits.ts';
import type { NewTask, Store } from '../../src/store/store.ts';
import { describeAssets } from './asset-conformance.ts';
import { everyTask, findInconsistencies } from './consistency.ts';
import { describeDeliveries } from './delivery-conformance.ts';
import type { DriverFactory, OpenOptions } from './driver-factory.ts';
import { bothOf, failureWith, freshStore } from './fresh.ts';
import { describeLedgerProperties } from './ledger-properties.ts';
import { describeListingProperties } from './listing-properties.ts';
import { BROKEN, CREDIT, completionOf, keyFor, newAsset, owner, taskFor } from './records.ts';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 21, 12);
const ALL_DAYS = { from: '2026-01-01', to: '2026-12-31' };

/** Tests that every driver of the store must pass. */
export function describeStoreDriver(subject: DriverFactory): void {
  const fresh = (options?: OpenOptions) => freshStore(subject, options);

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
      const { store, reopened } = await fresh();
      const { account } = await owner(store, 0);
      expect(await store.grant(account.id, 3, 'welcome')).toMatchObject({ granted: 3 });
      expect(await store.setPlan(account.id, 'free')).toMatchObject({ plan: 'free', granted: 3 });
      const again = await reopened();
      expect(await again.findAccount('owner')).toMatchObject({ plan: 'free', granted: 3 });
      expect(await again.listLedger(account.id, { limit: 9 })).toMatchObject([
        { type: 'grant', amount: 3, note: 'welcome', available: 3, taskId: null },
      ]);
      expect(await findInconsistencies(again)).toEqual([]);
    });

    it('rotates the callback secret and keeps the previous one', async () => {
      const { store, reopened } = await fresh();
      const { account } = await owner(store, 0);
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
      const { store } = await fresh();
      const { account } = await owner(store, 1);
      const refused = expect.objectContaining({ type: 'invalid_request', status: 400 });
      await expect(store.grant(account.id, sum)).rejects.toEqual(refused);
      const other = store.createAccount({ name: 'other', plan: 'free', credits: sum });
      await expect(other).rejects.toEqual(refused);
      expect(await store.listAccounts()).toMatchObject([{ granted: 1 }]);
    });

    it('rejects grants above the maximum of an account', async () => {
      const { store } = await fresh();
      const { account } = await owner(store, 1_000_000_000 * CREDIT);
      await expect(store.grant(account.id, 1)).rejects.toMatchObject({ param: 'credits' });
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('rejects unknown accounts with 404', async () => {
      const { store } = await fresh();
      const { key, account } = await owner(store);
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
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store, 7, {
        models: ['a', 'b'],
        rpm: 3,
        budget: 5,
        expiresAt: 99,
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
      const { store } = await fresh();
      const { account, key } = await owner(store);
      const again = store.createKey(keyFor(account, { hash: key.hash }));
      await expect(again).rejects.toEqual(failureWith('key_exists', 409));
    });

    it('keeps the time of the first revocation', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { key } = await owner(store);
      expect(await store.revokeKey(key.id)).toMatchObject({ revokedAt: NOON });
      now += 1;
      expect(await store.revokeKey(key.id)).toMatchObject({ revokedAt: NOON });
      const again = await reopened();
      expect((await again.findKey(key.hash))?.key.revokedAt).toBe(NOON);
      await expect(again.revokeKey('key_x')).rejects.toEqual(failureWith('key_not_found', 404));
    });

    it('rejects a key of another account', async () => {
      const { store } = await fresh();
      const { key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 9 });
      const foreign = { accountId: other.id, keyId: key.id };
      const gone = failureWith('key_not_found', 404);
      await expect(store.createTask(taskFor(key, foreign))).rejects.toEqual(gone);
      await expect(store.reserve(other.id, key.id, 1)).rejects.toEqual(gone);
      const metered = { model: 'm', counts: {}, charge: 1 };
      await expect(store.settle(foreign, metered)).rejects.toEqual(gone);
      expect(await findInconsistencies(store)).toEqual([]);
    });
  });

  describe('tasks', () => {
    it('completes a task and charges its cost', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { account, key } = await owner(store, 10 * CREDIT);
      const { task, created } = await store.createTask(
        taskFor(key, { reservation: 4 * CREDIT, deadline: NOON + 9 }),
      );
      expect(created).toBe(true);
      expect(task.id).toMatch(/^task_[0-9A-Za-z]{17,}$/);
      expect(task).toMatchObject({
        status: 'pending',
        reserved: 4 * CREDIT,
        charged: 0,
        attempts: 0,
        result: null,
        error: null,
        createdAt: NOON,
        updatedAt: NOON,
        deadline: NOON + 9,
      });
      expect(await store.findAccount('owner')).toMatchObject({ reserved: 4 * CREDIT, spent: 0 });
      now += 1;
      const claimed = await store.claimTask(task.id);
      expect(claimed).toEqual({ ...task, status: 'processing', attempts: 1, updatedAt: NOON + 1 });
      expect(await store.claimTask(task.id)).toBeUndefined();
      const result = { data: [{ url: 'https://example.com/1' }] };
      const counts = { outputs: 1, requests: 1 };
      const completion = completionOf({ result, charge: 3 * CREDIT, counts });
      const ended = await store.completeTask(task.id, completion);
      expect(ended).toMatchObject({
        status: 'completed',
        result,
        reserved: 0,
        charged: 3 * CREDIT,
      });
      for await (const one of bothOf(store, reopened)) {
        expect(await one.findTask(account.id, task.id)).toEqual(ended);
        expect(await one.findAccount('owner')).toMatchObject({ reserved: 0, spent: 3 * CREDIT });
        const entries = await one.listLedger(account.id, { limit: 9 });
        const brief = entries.map(({ type, amount, available, taskId }) => [
          type,
          amount / CREDIT,
          available / CREDIT,
          taskId,
        ]);
        expect(brief).toEqual([
          ['release', 1, 7, task.id],
          ['charge', 3, 6, task.id],
          ['reserve', 4, 6, task.id],
          ['grant', 10, 10, null],
        ]);
        expect(await one.listUsage(account.id, ALL_DAYS)).toEqual([
          {
            accountId: account.id,
            day: '2026-11-21',
            model: 'some-image-model',
            requests: 1,
            inputTokens: 0,
            cachedInputTokens: 0,
            outputTokens: 0,
            outputs: 1,
            spent: 3 * CREDIT,
          },
        ]);
        expect(await findInconsistencies(one)).toEqual([]);
      }
    });

    it('charges at most the reservation', async () => {
      const { store } = await fresh();
      const { key } = await owner(store, 10);
      const { task } = await store.createTask(taskFor(key, { reservation: 4 }));
      await store.claimTask(task.id);
      const ended = await store.completeTask(task.id, completionOf({ charge: 9 }));
      expect(ended.charged).toBe(4);
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('releases the reservation of failed and expired tasks, except for a given charge', async () => {
      const { store } = await fresh();
      const { account, key } = await owner(store, 10);
      const make = async () => (await store.createTask(taskFor(key, { reservation: 3 }))).task.id;
      const [failed, billed, expired] = [await make(), await make(), await make()];
      await store.claimTask(billed);
      const error = { type: 'service_error', message: 'broken', code: null } as const;
      expect(await store.failTask(failed, error)).toMatchObject({ status: 'failed', error });
      expect(await store.failTask(billed, error, 2)).toMatchObject({ charged: 2, reserved: 0 });
      expect(await store.expireTask(expired)).toMatchObject({
        status: 'expired',
        error: { type: 'timeout' },
        charged: 0,
      });
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 0, spent: 2 });
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('ends a task once', async () => {
      const { store } = await fresh();
      const { key } = await owner(store);
      const { task } = await store.createTask(taskFor(key));
      const completion = completionOf({ charge: CREDIT });
      const state = failureWith('task_state', 409);
      await expect(store.completeTask(task.id, completion)).rejects.toEqual(state);
      await expect(store.requeueTask(task.id)).rejects.toEqual(state);
      await store.claimTask(task.id);
      const error = { type: 'unknown', message: 'x', code: null } as const;
      const ends = await Promise.allSettled([
        store.completeTask(task.id, completion),
        store.completeTask(task.id, completion),
        store.failTask(task.id, error, CREDIT),
        store.expireTask(task.id),
      ]);
      expect(ends.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'rejected',
      ]);
      for (const late of [
        store.completeTask(task.id, completion),
        store.failTask(task.id, error),
        store.expireTask(task.id),
        store.requeueTask(task.id),
      ]) {
        await expect(late).rejects.toEqual(state);
      }
      expect(await store.claimTask(task.id)).toBeUndefined();
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('requeues processing tasks after a restart', async () => {
      const { store, reopened } = await fresh();
      const { key } = await owner(store);
      const ids = [];
      for (let n = 0; n < 3; n += 1) ids.push((await store.createTask(taskFor(key))).task.id);
      await store.claimTask(ids[0]!);
      await store.claimTask(ids[1]!);
      await store.failTask(ids[1]!, { type: 'timeout', message: 'x', code: null });
      const again = await reopened();
      expect((await again.listOpenTasks()).map(({ id }) => id)).toEqual([ids[0], ids[2]]);
      expect(await again.requeueTask(ids[0]!)).toMatchObject({ status: 'pending', attempts: 1 });
      expect(await again.claimTask(ids[0]!)).toMatchObject({ attempts: 2 });
      expect(await findInconsistencies(again)).toEqual([]);
    });

    it('rejects tasks above the maximum of open ones, also of concurrent calls', async () => {
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: CREDIT });
      const otherKey = await store.createKey(keyFor(other));
      const make = (one: Store, most: number) =>
        one.createTask(taskFor(key, { maxOpenTasks: most }));
      const attempts = Array.from({ length: 20 }, () => make(store, 3));
      const settled = await Promise.allSettled(attempts);
      expect(settled.map(({ status }) => status).sort()).toEqual([
        ...Array.from({ length: 3 }, () => 'fulfilled'),
        ...Array.from({ length: 17 }, () => 'rejected'),
      ]);
      const full = failureWith('too_many_tasks', 429);
      const ids = (await store.listOpenTasks()).map(({ id }) => id);
      await store.claimTask(ids[0]!);
      await expect(make(store, 3)).rejects.toEqual(full);
      await store.createTask(taskFor(otherKey, { maxOpenTasks: 1 }));
      await store.failTask(ids[0]!, BROKEN);
      await store.expireTask(ids[1]!);
      const again = await reopened();
      await expect(make(again, 1)).rejects.toEqual(full);
      const idempotency = { key: 'k', fingerprint: 'f' };
      const { task } = await again.createTask(taskFor(key, { maxOpenTasks: 2, idempotency }));
      await expect(make(again, 2)).rejects.toEqual(full);
      // A repeated request creates no further task.
      const repeat = await again.createTask(taskFor(key, { maxOpenTasks: 2, idempotency }));
      expect(repeat).toMatchObject({ created: false, task: { id: task.id } });
      expect((await again.findAccount(account.id))?.reserved).toBe(2 * CREDIT);
      expect(await findInconsistencies(again)).toEqual([]);
    });

    it('lets one of many concurrent calls claim a task', async () => {
      const { store } = await fresh();
      const { key } = await owner(store);
      const { task } = await store.createTask(taskFor(key));
      const claims = await Promise.all(Array.from({ length: 9 }, () => store.claimTask(task.id)));
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await store.claimTask('task_x')).toBeUndefined();
    });

    it('finds tasks for their own account only', async () => {
      const { store } = await fresh();
      const { account, key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const { task } = await store.createTask(taskFor(key));
      expect(await store.findTask(account.id, task.id)).toEqual(task);
      expect(await store.findTask(other.id, task.id)).toBeUndefined();
      expect(await store.findTask(account.id, 'task_x')).toBeUndefined();
      expect(await store.listTasks({ accountId: other.id }, { limit: 9 })).toEqual([]);
      const gone = failureWith('task_not_found', 404);
      await expect(store.expireTask('task_x')).rejects.toEqual(gone);
    });

    it('lists tasks newest first, in pages, also when the clock goes back', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { account, key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const foreign = await store.createKey(keyFor(other));
      const made: string[] = [];
      for (let n = 0; n < 7; n += 1) {
        now -= 1000;
        const type = n % 2 ? 'video' : 'image';
        made.push((await store.createTask(taskFor(key, { type }))).task.id);
        await store.createTask(taskFor(foreign, { reservation: 0 }));
      }
      await store.claimTask(made[2]!);
      await store.claimTask(made[4]!);
      const newest = made.toReversed();
      for await (const one of bothOf(store, reopened)) {
        const list = async (...args: Parameters<Store['listTasks']>) =>
          (await one.listTasks(...args)).map(({ id }) => id);
        const own = { accountId: account.id };
        expect(await list(own, { limit: 99 })).toEqual(newest);
        expect(await list(own, { limit: 3 })).toEqual(newest.slice(0, 3));
        expect(await list(own, { limit: 3, after: newest[2]! })).toEqual(newest.slice(3, 6));
        expect(await list(own, { limit: 3, after: newest[6]! })).toEqual([]);
        expect(await list({ ...own, type: 'video' }, { limit: 2 })).toEqual([made[5], made[3]]);
        expect(await list({ status: 'processing' }, { limit: 9 })).toEqual([made[4], made[2]]);
        expect(await list({ ...own, status: 'failed' }, { limit: 9 })).toEqual([]);
        expect(await list({}, { limit: 99 })).toHaveLength(14);
        expect(
          (await one.listOpenTasks()).map(({ id }) => id).filter((id) => made.includes(id)),
        ).toEqual(made);
        // A task of another account is rejected like an unknown one.
        const [theirs] = await list({ accountId: other.id }, { limit: 1 });
        for (const after of ['task_x', theirs!]) {
          const refused = list(own, { limit: 3, after });
          await expect(refused).rejects.toEqual(failureWith('task_not_found', 404));
          await expect(refused).rejects.toMatchObject({ message: `there is no task "${after}"` });
        }
      }
    });

    it('deletes tasks that ended before a time, and keeps their ledger entries', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { account, key } = await owner(store);
      const idempotency = { key: 'k', fingerprint: 'f' };
      const old = (await store.createTask(taskFor(key, { idempotency }))).task;
      await store.expireTask(old.id);
      const open = (await store.createTask(taskFor(key))).task;
      now += DAY;
      const late = (await store.createTask(taskFor(key))).task;
      await store.expireTask(late.id);
      expect(await store.deleteTasks(NOON + 1)).toMatchObject({
        tasks: [{ id: old.id }],
        assets: [],
      });
      expect(await store.deleteTasks(NOON + 1)).toEqual({ tasks: [], assets: [] });
      for await (const one of bothOf(store, reopened)) {
        expect(await one.findTask(account.id, old.id)).toBeUndefined();
        expect((await everyTask(one)).map(({ id }) => id)).toEqual([late.id, open.id]);
        expect(await one.listLedger(account.id, { limit: 99 })).toHaveLength(6);
        expect(await findInconsistencies(one)).toEqual([]);
      }
    });

    it('trims ended tasks of an account to a number and to a size', async () => {
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const foreign = await store.createKey(keyFor(other));
      const end = async (one: Store, change: Partial<NewTask> = {}, bytes = 1000) => {
        const { task } = await one.createTask(taskFor(key, { reservation: 0, ...change }));
        await one.claimTask(task.id);
        const assets = [newAsset({ bytes })];
        await one.completeTask(task.id, completionOf({ assets }));
        return { id: task.id, asset: assets[0]!.id };
      };
      const open = (await store.createTask(taskFor(key, { reservation: 0 }))).task;
      const made = [];
      for (let n = 0; n < 12; n += 1) made.push(await end(store));
      await end(store, { accountId: other.id, keyId: foreign.id });
      const trim = async (one: Store, tasks: number, bytes = Infinity) => {
        const forgotten = await one.trimTasks(account.id, { tasks, bytes });
        expect(forgotten.assets.map(({ taskId }) => taskId)).toEqual(
          forgotten.tasks.map(({ id }) => id),
        );
        return forgotten.tasks.map(({ id }) => id);
      };
      expect(await trim(store, 12)).toEqual([]);
      expect(await trim(store, 9)).toEqual(made.slice(0, 3).map(({ id }) => id));
      expect(await trim(store, 9)).toEqual([]);
      const again = await reopened();
      expect(await trim(again, 9)).toEqual([]);
      expect(await again.findTask(account.id, made[0]!.id)).toBeUndefined();
      expect(await again.findAsset(made[0]!.asset)).toBeUndefined();
      expect(await trim(again, 8)).toEqual([made[3]!.id]);
      // Files count towards the size.
      const large = await end(again, {}, 1_000_000);
      expect(await trim(again, 99, 1_004_000)).toHaveLength(8 - 2);
      const left = (await everyTask(again, account.id)).map(({ id }) => id);
      expect(left).toEqual([large.id, made[11]!.id, made[10]!.id, open.id]);
      expect(await everyTask(again, other.id)).toHaveLength(1);
      expect(await findInconsistencies(again)).toEqual([]);
    });

    it('truncates the request of failed and expired tasks', async () => {
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store);
      const request = {
        prompt: 'x'.repeat(60_000),
        inputs: Array(500).fill({ url: 'y'.repeat(99) }),
      };
      const make = async () => {
        const { task } = await store.createTask(taskFor(key, { request, reservation: 0 }));
        await store.claimTask(task.id);
        return task.id;
      };
      const [failed, expired, completed] = [await make(), await make(), await make()];
      await store.failTask(failed, BROKEN);
      await store.expireTask(expired);
      await store.completeTask(completed, completionOf());
      for await (const one of bothOf(store, reopened)) {
        for (const id of [failed, expired]) {
          const kept = (await one.findTask(account.id, id))!.request;
          expect(JSON.stringify(kept).length).toBeLessThan(20_000);
          expect(JSON.stringify(kept)).toContain('xxx');
        }
        expect((await one.findTask(account.id, completed))!.request).toEqual(request);
      }
    });

    it('limits the requests of open tasks to 64 MB per account', async () => {
      const { store } = await fresh();
      const { key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const foreign = await store.createKey(keyFor(other));
      // The same string each time: its size counts for each task.
      const request = { prompt: 'x'.repeat(20 * 2 ** 20) };
      const large = taskFor(key, { request, reservation: 0 });
      const made = [];
      for (let n = 0; n < 3; n += 1) made.push((await store.createTask(large)).task.id);
      await expect(store.createTask(large)).rejects.toEqual(failureWith('too_many_tasks', 429));
      await store.createTask({ ...large, accountId: other.id, keyId: foreign.id });
      await store.expireTask(made[0]!);
      await store.createTask(large);
    });

    it('saves progress while a task is processing, and removes it at the end', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { account, key } = await owner(store);
      const { task } = await store.createTask(taskFor(key));
      expect(task.progress).toBeNull();
      const state = failureWith('task_state', 409);
      await expect(store.saveProgress(task.id, { job: 1 })).rejects.toEqual(state);
      await store.claimTask(task.id);
      now += 5;
      await store.saveProgress(task.id, { job: 1 });
      const noted = await store.saveProgress(task.id, { job: 2, route: 'a' });
      expect(noted).toMatchObject({ status: 'processing', attempts: 1, updatedAt: NOON + 5 });
      const again = await reopened();
      expect(await again.findTask(account.id, task.id)).toEqual(noted);
      expect(noted.progress).toEqual({ job: 2, route: 'a' });
      expect(await again.requeueTask(task.id)).toMatchObject({ progress: noted.progress });
      await expect(again.saveProgress(task.id, null)).rejects.toEqual(state);
      expect(await again.claimTask(task.id)).toMatchObject({ progress: noted.progress });
      expect(await again.failTask(task.id, BROKEN)).toMatchObject({ progress: null });
      await expect(again.saveProgress(task.id, { job: 3 })).rejects.toEqual(state);
      await expect(again.saveProgress('task_x', {})).rejects.toEqual(
        failureWith('task_not_found', 404),
      );
      for (const end of ['complete', 'expire'] as const) {
        const { id } = (await again.createTask(taskFor(key))).task;
        await again.claimTask(id);
        await again.saveProgress(id, { job: 4 });
        const ended = await (end === 'expire'
          ? again.expireTask(id)
          : again.completeTask(id, completionOf()));
        expect(ended.progress).toBeNull();
      }
    });

    it('returns the request unchanged', async () => {
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store);
      const request = JSON.parse(
        '{"prompt":"\\u0000 \\ud800 \\u2028\\n\\"","__proto__":{"n":[1,2.5,null,true,{}]},"":[]}',
      );
      const { task } = await store.createTask(taskFor(key, { request }));
      const found = await (await reopened()).findTask(account.id, task.id);
      expect(JSON.stringify(found!.request)).toBe(JSON.stringify(request));
    });
  });

  describe('idempotency keys', () => {
    const idempotency = { key: 'order-1', fingerprint: 'abc' };

    it('return the same task to repeated and concurrent requests', async () => {
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store, 10);
      const task = taskFor(key, { idempotency, reservation: 6 });
      const both = await Promise.all([store.createTask(task), store.createTask(task)]);
      expect(both.map(({ created }) => created)).toEqual([true, false]);
      expect(both[1]!.task).toEqual(both[0]!.task);
      const again = await reopened();
      const third = await again.createTask(task);
      expect(third).toEqual({ created: false, task: both[0]!.task });
      expect(await again.findTaskByIdempotencyKey(account.id, idempotency)).toEqual(both[0]!.task);
      expect(await again.findAccount(account.id)).toMatchObject({ reserved: 6 });
      expect(await findInconsistencies(again)).toEqual([]);
    });

    it('reject another fingerprint with 409', async () => {
      const { store } = await fresh();
      const { key } = await owner(store);
      await store.createTask(taskFor(key, { idempotency }));
      const other = taskFor(key, { idempotency: { ...idempotency, fingerprint: 'other' } });
      const conflict = failureWith('idempotency_conflict', 409);
      await expect(store.createTask(other)).rejects.toEqual(conflict);
      const { accountId } = key;
      await expect(store.findTaskByIdempotencyKey(accountId, other.idempotency!)).rejects.toEqual(
        conflict,
      );
    });

    it('belong to one account, and can be used again after the task is deleted', async () => {
      const { store } = await fresh();
      const { key } = await owner(store);
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const foreign = await store.createKey(keyFor(other));
      const { task } = await store.createTask(taskFor(key, { idempotency }));
      expect(await store.findTaskByIdempotencyKey(other.id, idempotency)).toBeUndefined();
      const theirs = await store.createTask(taskFor(foreign, { idempotency, reservation: 0 }));
      expect(theirs.created).toBe(true);
      await store.expireTask(task.id);
      await store.deleteTasks(Infinity);
      expect(await store.findTaskByIdempotencyKey(key.accountId, idempotency)).toBeUndefined();
      expect(await store.createTask(taskFor(key, { idempotency }))).toMatchObject({
        created: true,
      });
    });
  });

  describe('credits', () => {
    it('are reserved by one of many concurrent calls when they suffice for one', async () => {
      const { store } = await fresh();
      const { account, key } = await owner(store, 10);
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
      const { store } = await fresh();
      const { account, key } = await owner(store, 100, { budget: 10 });
      const { task } = await store.createTask(taskFor(key, { reservation: 6 }));
      const over = failureWith('key_budget_exceeded', 402);
      await expect(store.createTask(taskFor(key, { reservation: 5 }))).rejects.toEqual(over);
      await expect(store.reserve(account.id, key.id, 5)).rejects.toEqual(over);
      await store.claimTask(task.id);
      await store.completeTask(task.id, completionOf({ charge: 1 }));
      const hold = await store.reserve(account.id, key.id, 9);
      await expect(store.reserve(account.id, key.id, 1)).rejects.toEqual(over);
      expect(await store.settle(hold, { model: 'm', counts: {}, charge: 20 })).toBe(9);
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('are not needed for free tasks and requests', async () => {
      const { store } = await fresh();
      const { account, key } = await owner(store, 0);
      const { task } = await store.createTask(taskFor(key, { reservation: 0 }));
      await store.claimTask(task.id);
      await store.completeTask(task.id, completionOf({ counts: { outputs: 1 } }));
      const hold = await store.reserve(account.id, key.id, 0);
      expect(await store.settle(hold, { model: 'm', counts: { outputs: 2 }, charge: 0 })).toBe(0);
      expect(await store.listLedger(account.id, { limit: 9 })).toEqual([]);
      expect(await store.listUsage(account.id, ALL_DAYS)).toHaveLength(2);
      expect(await findInconsistencies(store)).toEqual([]);
    });
  });

  describe('reservations of requests', () => {
    it('are part of `reserved`, and end once', async () => {
      const { store } = await fresh();
      const { account, key } = await owner(store, 10);
      const hold = await store.reserve(account.id, key.id, 8);
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 8, spent: 0 });
      expect((await store.findKey(key.hash))!.key.reserved).toBe(8);
      expect(store.statistics().credits.reserved).toBe(8);
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
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('limit a charge above them to what is available', async () => {
      const { store } = await fresh();
      const { account, key } = await owner(store, 10);
      const [one, other] = [
        await store.reserve(account.id, key.id, 4),
        await store.reserve(account.id, key.id, 4),
      ];
      expect(await store.settle(one, { model: 'm', counts: {}, charge: 9 })).toBe(6);
      expect(await store.settle(other, { model: 'm', counts: {}, charge: 4 })).toBe(4);
      const none = { accountId: account.id, keyId: key.id };
      expect(await store.settle(none, { model: 'm', counts: {}, charge: 4 })).toBe(0);
      expect(await findInconsistencies(store)).toEqual([]);
    });

    it('end with the process', async () => {
      const { store, reopened } = await fresh();
      const { account, key } = await owner(store, 10);
      await store.reserve(account.id, key.id, 10);
      const again = await reopened();
      expect(await again.findAccount(account.id)).toMatchObject({ reserved: 0 });
    });

    it('become ledger entries and usage by key, model and day', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { account, key } = await owner(store, 100);
      const holder = { accountId: account.id, keyId: key.id };
      const counts = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 2 };
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
          outputTokens: 4,
          spent: 5,
        },
        { model: 'b', requests: 2, spent: 18 },
      ]);
      expect(await again.listUsage(account.id, ALL_DAYS)).toHaveLength(3);
      expect(await findInconsistencies(again)).toEqual([]);
    });
  });

  describe('the ledger', () => {
    it('is listed in pages, newest first', async () => {
      const { store } = await fresh();
      const { account } = await owner(store, 1);
      for (let n = 0; n < 5; n += 1) await store.grant(account.id, 1, `${n}`);
      const page = await store.listLedger(account.id, { limit: 2 });
      expect(page.map(({ note }) => note)).toEqual(['4', '3']);
      const next = await store.listLedger(account.id, { limit: 9, after: page[1]!.id });
      expect(next.map(({ note }) => note)).toEqual(['2', '1', '0', null]);
      expect(await store.listLedger(account.id, { limit: 0 })).toEqual([]);
    });

    it('is compacted before a time, and continues', async () => {
      let now = NOON;
      const { store, reopened } = await fresh({ now: () => now });
      const { account, key } = await owner(store, 100);
      const { task } = await store.createTask(taskFor(key, { reservation: 30 }));
      await store.settle(
        { accountId: account.id, keyId: key.id },
        { model: 'm', counts: {}, charge: 7 },
      );
      now += DAY;
      await store.claimTask(task.id);
      await store.completeTask(task.id, completionOf({ charge: 10 }));
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
      const { store, reopened } = await fresh();
      const { account } = await owner(store, 1);
      const grant = () => store.grant(account.id, 1);
      const fold = () => store.compactLedger(account.id, { before: 0, lines: 10 });
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
      const { store } = await fresh({ now: () => now });
      const { account, key } = await owner(store, 10);
      const holder = { accountId: account.id, keyId: key.id };
      await store.settle(holder, { model: 'm', counts: {}, charge: 8 });
      // The clock is set forward and back: the day's sum grows by charges that the later grant paid for.
      now += DAY;
      await store.grant(account.id, 100);
      now -= DAY;
      await store.settle(holder, { model: 'm', counts: {}, charge: 50 });
      await store.compactLedger(account.id, { before: NOON + 1, lines: 100 });
      const entries = await store.listLedger(account.id, { limit: 9 });
      expect(entries.map(({ type }) => type)).toEqual(['grant', 'charge', 'grant']);
      expect(await findInconsistencies(store)).toEqual([]);
    });
  });

  it('starts empty', async () => {
    const { store, reopened } = await fresh();
    for await (const one of bothOf(store, reopened)) {
      expect(await one.listAccounts()).toEqual([]);
      expect(await one.listKeys()).toEqual([]);
      expect(await one.listOpenTasks()).toEqual([]);
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
    const copies: string[] = [];
    const known: string[][] = [];
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        acknowledged.push((await store.createTask(taskFor(key))).task.id);
        if (acknowledged.length % 20 === 0) {
          known.push([...acknowledged]);
          copies.push(subject.copyOfCrashed(place));
        }
      }),
    );
    for (const [at, copy] of copies.entries()) {
      const crashed = await subject.open(copy);
      const found = (await everyTask(crashed, account.id)).map(({ id }) => id);
      expect(known[at]!.filter((id) => !found.includes(id))).toEqual([]);
      expect(await findInconsistencies(crashed)).toEqual([]);
      await crashed.close();
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
      Array.from({ length: 200 }, async (_, at) => {
        // Some charges together and some apart, beside writes in progress.
        for (let turn = at % 7; turn > 0; turn -= 1) await setImmediate();
        if (at % 10 === 0) await store.createTask(taskFor(key));
        const hold = await store.reserve(account.id, key.id, 2);
        sent += 1;
        await store.settle(hold, { model: `m${at % 3}`, counts: {}, charge: 1 });
        known += 1;
        if (at % 20 === 0) copies.push({ copy: subject.copyOfCrashed(place), known });
      }),
    );
    expect(known).toBe(200);
    expect(store.health()).toMatchObject({ fault: null, checkpointFault: null });
    for (const { copy, known } of copies) {
      const crashed = await subject.open(copy);
      const { spent } = (await crashed.findAccount(account.id))!;
      expect(spent).toBeGreaterThanOrEqual(known);
      expect(spent).toBeLessThanOrEqual(sent);
      expect(await findInconsistencies(crashed)).toEqual([]);
      await crashed.close();
    }
    await store.close();
  });

  describeAssets(subject);
  describeDeliveries(subject);
  describeLedgerProperties(subject);
  describeListingProperties(subject);
}
