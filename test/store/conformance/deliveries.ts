import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../src/store/account.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimOf, findInconsistencies, pendingDeliveries } from '../consistency.ts';
import { bothOf, failureWith, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { BROKEN, completionOf, keyFor, newAsset, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const NOON = Date.UTC(2026, 10, 21, 12);

/** Tests of deliveries for every driver. */
export function describeDeliveries(driver: DriverFactory): void {
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('deliveries', () => {
    const callbackUrl = 'https://example.com/callback?task=1';
    const attempt = { at: NOON, status: 500, error: 'no', milliseconds: 12 };

    it('are recorded with every end of a task with a callback URL', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now });
      const make = async (change: object = {}) => {
        const { id } = (await store.createTask(taskFor(key, { callbackUrl, ...change }))).task;
        await store.claimTask(id);
        return id;
      };
      const ends = [await make(), await make(), await make()];
      const silent = await make({ callbackUrl: null });
      expect(await store.listDeliveries(account.id, ends[0]!)).toEqual([]);
      expect(await pendingDeliveries(store)).toEqual([]);
      now += 3;
      await store.completeTask(await claimOf(store, ends[0]!), completionOf());
      await store.failTask(await claimOf(store, ends[1]!), BROKEN);
      await store.expireTask(await claimOf(store, ends[2]!));
      await store.completeTask(await claimOf(store, silent), completionOf());
      const again = await reopened();
      for (const taskId of ends) {
        expect(await again.listDeliveries(account.id, taskId)).toEqual([
          {
            id: expect.stringMatching(/^msg_[0-9A-Za-z]{17,}$/),
            accountId: account.id,
            taskId,
            url: callbackUrl,
            status: 'pending',
            attempts: [],
            nextAt: NOON + 3,
            createdAt: NOON + 3,
          },
        ]);
      }
      expect(await again.listDeliveries(account.id, silent)).toEqual([]);
      const open = await pendingDeliveries(again);
      expect(open.map(({ taskId }) => taskId)).toEqual(ends);
      expect(new Set(open.map(({ id }) => id)).size).toBe(3);
    });

    it('are recorded once when a task is ended concurrently', async () => {
      const { store, account, key } = await owned();
      const { task } = await store.createTask(taskFor(key, { callbackUrl }));
      const claim = (await store.claimTask(task.id))!;
      await Promise.allSettled([
        store.completeTask(claim, completionOf()),
        store.failTask(claim, BROKEN),
        store.expireTask(claim),
      ]);
      await expect(store.expireTask(await claimOf(store, task.id))).rejects.toEqual(
        failureWith('task_state', 409),
      );
      expect(await store.listDeliveries(account.id, task.id)).toHaveLength(1);
      expect(await pendingDeliveries(store)).toHaveLength(1);
    });

    it('are listed for their own account only', async () => {
      const { store, key } = await owned();
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const { task } = await store.createTask(taskFor(key, { callbackUrl }));
      await store.expireTask(await claimOf(store, task.id));
      expect(await store.listDeliveries(other.id, task.id)).toBeUndefined();
      expect(await store.listDeliveries(key.accountId, 'task_x')).toBeUndefined();
    });

    it('are pending until they are delivered or have failed', async () => {
      const { store, reopened, account, key } = await owned({ now: () => NOON });
      const end = async () => {
        const { id } = (await store.createTask(taskFor(key, { callbackUrl }))).task;
        await store.expireTask(await claimOf(store, id));
        return (await store.listDeliveries(account.id, id))![0]!;
      };
      const [first, second, waiting] = [await end(), await end(), await end()];
      const later = { status: 'pending', nextAt: NOON + 60_000 } as const;
      const tried = await store.recordAttempt(first, attempt, later);
      expect(tried).toEqual({
        ...first,
        attempts: [attempt],
        nextAt: NOON + 60_000,
      });
      const soon = { status: 'pending', nextAt: NOON + 5 } as const;
      const again2 = await store.recordAttempt(second, attempt, soon);
      const lost = failureWith('claim_lost', 409);
      await expect(store.recordAttempt(first, attempt, later)).rejects.toEqual(lost);
      const open = async (one: Store) => (await pendingDeliveries(one)).map(({ id }) => id);
      expect(await open(store)).toEqual([waiting.id, second.id, first.id]);
      const success = { at: NOON + 1, status: 204, error: null, milliseconds: 3 };
      const delivered = await store.recordAttempt(tried, success, { status: 'delivered' });
      await store.recordAttempt(again2, { ...attempt, status: null }, { status: 'failed' });
      const again = await reopened();
      expect(await again.listDeliveries(account.id, first.taskId)).toEqual([delivered]);
      expect(delivered).toMatchObject({
        status: 'delivered',
        attempts: [attempt, success],
        nextAt: null,
      });
      expect(await again.listDeliveries(account.id, second.taskId)).toMatchObject([
        { status: 'failed', nextAt: null, attempts: [attempt, { status: null }] },
      ]);
      expect(await open(again)).toEqual([waiting.id]);
      const ended = failureWith('delivery_state', 409);
      await expect(again.recordAttempt(first, attempt, later)).rejects.toEqual(ended);
      await expect(again.recordAttempt(second, attempt, later)).rejects.toEqual(ended);
      const unknown = again.recordAttempt({ ...first, id: 'msg_x' }, attempt, later);
      await expect(unknown).rejects.toEqual(failureWith('delivery_not_found', 404));
    });

    it('keep the last 50 attempts', async () => {
      const { store, reopened, account, key } = await owned();
      const { task } = await store.createTask(taskFor(key, { callbackUrl }));
      await store.expireTask(await claimOf(store, task.id));
      let delivery = (await pendingDeliveries(store))[0]!;
      for (let at = 1; at <= 53; at += 1) {
        const outcome = { status: 'pending', nextAt: at } as const;
        delivery = await store.recordAttempt(delivery, { ...attempt, at }, outcome);
      }
      expect(delivery.forgotten).toBe(3);
      const [kept] = (await (await reopened()).listDeliveries(account.id, task.id))!;
      expect(kept!.attempts.map(({ at }) => at)).toEqual(
        Array.from({ length: 50 }, (_, n) => n + 4),
      );
    });

    it('are claimed once when they are due, except those of given accounts', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now });
      const end = async (of: ApiKey) => {
        const { task } = await store.createTask(taskFor(of, { callbackUrl, reservation: 0 }));
        await store.expireTask(task);
        now += 1;
        return (await store.listDeliveries(of.accountId, task.id))![0]!;
      };
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const theirs = await end(await store.createKey(keyFor(other)));
      const [first, second, third] = [await end(key), await end(key), await end(key)];
      const exceptAccounts = [other.id];
      const claim = await store.claimDeliveries({ limit: 2, exceptAccounts });
      expect(claim.deliveries).toEqual([first, second]);
      expect(claim.nextAt).not.toBeNull();
      expect((await store.claimDeliveries({ limit: 9 })).deliveries).toEqual([theirs, third]);
      expect((await store.claimDeliveries({ limit: 9 })).deliveries).toEqual([]);
      const nextAt = now + 50;
      const later = { ...attempt, at: now };
      const tried = await store.recordAttempt(first, later, { status: 'pending', nextAt });
      const early = await store.claimDeliveries({ limit: 9 });
      expect(early.deliveries).toEqual([]);
      expect(early.nextAt).toBeLessThanOrEqual(nextAt);
      now = nextAt;
      expect((await store.claimDeliveries({ limit: 9 })).deliveries).toEqual([tried]);
      // The claims end with the process.
      const again = await reopened();
      const { deliveries } = await again.claimDeliveries({ limit: 9, exceptAccounts });
      expect(deliveries).toEqual([second, third, tried]);
      expect(await again.listDeliveries(account.id, first.taskId)).toEqual([tried]);
    });

    it('are due at once after the clock was set back behind the last attempt', async () => {
      let now = NOON;
      const { store, key } = await owned({ now: () => now });
      const { task } = await store.createTask(taskFor(key, { callbackUrl }));
      await store.expireTask(task);
      now -= 365 * 86_400_000;
      const { deliveries } = await store.claimDeliveries({ limit: 9 });
      expect(deliveries).toMatchObject([{ taskId: task.id }]);
    });

    it('keep their task while they are pending', async () => {
      const { store, reopened, account, key } = await owned({ now: () => NOON });
      const asset = newAsset();
      const { task } = await store.createTask(taskFor(key, { callbackUrl }));
      const claim = (await store.claimTask(task.id))!;
      await store.completeTask(claim, completionOf({ assets: [asset] }));
      const [delivery] = await pendingDeliveries(store);
      expect(await store.deleteTasks(Infinity)).toEqual({ tasks: [], assets: [] });
      const again = await reopened();
      expect(await again.deleteTasks(Infinity)).toEqual({ tasks: [], assets: [] });
      expect(await again.findAsset(asset.id)).toBeDefined();
      await again.recordAttempt(delivery!, attempt, { status: 'failed' });
      expect(await again.deleteTasks(Infinity)).toMatchObject({
        tasks: [{ id: task.id }],
        assets: [{ id: asset.id }],
      });
      const gone = { status: 'pending', nextAt: 1 } as const;
      for await (const one of bothOf(again, reopened)) {
        expect(await one.listDeliveries(account.id, task.id)).toBeUndefined();
        await expect(one.recordAttempt(delivery!, attempt, gone)).rejects.toEqual(
          failureWith('delivery_not_found', 404),
        );
        expect(await findInconsistencies(one)).toEqual([]);
      }
    });
  });
}
