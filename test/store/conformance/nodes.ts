import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import type { StoreEvent } from '../../../src/store/store-event.ts';
import { everyTask, findInconsistencies } from '../consistency.ts';
import { failureWith, freshStore } from '../fresh-store.ts';
import { BROKEN, completionOf, owner, taskFor } from '../records.ts';
import { documentFor } from './documents.ts';
import type { DriverFactory } from './driver-factory.ts';

const free = { reservation: 0 };

/** Tests of nodes for every driver: of one, and of several where the driver lets them share a store. */
export function describeNodes(driver: DriverFactory): void {
  describe('a node', () => {
    it('is listed with its claims, and leads where it is the only one', async () => {
      const { store } = await freshStore(driver);
      const { key } = await owner(store);
      const { task } = await store.createTask(taskFor(key));
      await store.claimTask(task.id);
      const nodes = await store.listNodes();
      expect(nodes).toMatchObject([{ id: expect.stringMatching(/^node_/), claims: 1 }]);
      expect(nodes[0]!.aliveUntil).toBeGreaterThan(nodes[0]!.startedAt);
      expect([store.nodes.alive(), store.nodes.rank(), store.nodes.isLeader()]).toEqual([
        1,
        0,
        true,
      ]);
      store.watch(() => {})();
      store.publish({ kind: 'pending' });
    });

    it('runs work under one lock one at a time, also after an error', async () => {
      const { store } = await freshStore(driver);
      await expectExclusive([store, store]);
      await expect(store.withLock('test', () => Promise.reject(new Error('no')))).rejects.toThrow(
        'no',
      );
      expect(await store.withLock('test', async () => 5)).toBe(5);
    });
  });

  describe.skipIf(!driver.openAnother)('several nodes', () => {
    /** Two nodes on one store. */
    async function two() {
      const { store: one, place } = await freshStore(driver);
      const other = await driver.openAnother!(place);
      onTestFinished(() => other.close());
      await expect.poll(() => [one, other].map(({ nodes }) => nodes.alive())).toEqual([2, 2]);
      return { one, other, ...(await owner(one)) };
    }

    it('know the documents of each other at once, and change each version once', async () => {
      const { one, other } = await two();
      const [document] = await one.documents.add([documentFor('resp_1')]);
      expect(await other.documents.find(document!)).toEqual(document);
      const changes = await Promise.allSettled(
        [one, other].map(({ documents }, body) => documents.change(document!, { body })),
      );
      expect(changes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    });

    it('agree on their ranks and on one leader', async () => {
      const { one, other } = await two();
      const both = [one, other];
      expect(both.map(({ nodes }) => nodes.rank()).sort()).toEqual([0, 1]);
      expect(both.filter(({ nodes }) => nodes.isLeader())).toHaveLength(1);
      expect(await one.listNodes()).toHaveLength(2);
      await other.close();
      await expect.poll(() => one.nodes.alive()).toBe(1);
      expect(one.nodes.isLeader()).toBe(true);
    });

    it('claim each pending task once', async () => {
      const { one, other, key } = await two();
      const ids: string[] = [];
      for (let n = 0; n < 40; n += 1) ids.push((await one.createTask(taskFor(key, free))).task.id);
      const claims = await Promise.all(
        Array.from({ length: 16 }, (_, n) => (n % 2 ? one : other).claimPending({ limit: 3 })),
      );
      const claimed = claims.flat();
      expect(claimed.map(({ id }) => id).sort()).toEqual(ids.sort());
      expect(new Set(claimed.map(({ node }) => node)).size).toBe(2);
      expect(claimed.every(({ attempts }) => attempts === 1)).toBe(true);
    });

    it('reject the changes of another node, and take over the tasks of one that closed', async () => {
      const { one, other, account, key } = await two();
      const { task } = await one.createTask(taskFor(key, { reservation: 5 }));
      const claim = (await one.claimTask(task.id))!;
      expect(await other.claimTask(task.id)).toBeUndefined();
      expect(await other.claimOrphans({ limit: 9 })).toEqual([]);
      const lost = failureWith('claim_lost', 409);
      for (const change of [
        other.completeTask(claim, completionOf()),
        other.failTask(claim, BROKEN),
        other.requeueTask(claim),
        other.saveProgress(claim, {}),
      ]) {
        await expect(change).rejects.toEqual(lost);
      }
      const noted = await one.saveProgress(claim, { job: 1 });
      expect(await other.findTask(account.id, task.id)).toEqual(noted);
      await one.close();
      await expect
        .poll(() => other.claimOrphans({ limit: 9 }))
        .toMatchObject([{ id: task.id, attempts: 2, progress: { job: 1 } }]);
      const ended = await other.completeTask({ id: task.id, attempts: 2 }, completionOf());
      expect(ended).not.toHaveProperty('node');
      expect(await findInconsistencies(other)).toEqual([]);
    });

    it('end a task once', async () => {
      const { one, other, key } = await two();
      const { task } = await one.createTask(taskFor(key, { reservation: 5 }));
      const ends = await Promise.allSettled([
        one.expireTask(task),
        other.expireTask(task),
        one.failTask(task, BROKEN),
        other.failTask(task, BROKEN),
      ]);
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await findInconsistencies(one)).toEqual([]);
    });

    it('keep the limits of open tasks and of credits together', async () => {
      const { one, other, key } = await two();
      const limited = taskFor(key, { reservation: 10, maxOpenTasks: 7 });
      const made = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other).createTask(limited)),
      );
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
      const poor = await one.createAccount({ name: 'poor', plan: 'free', credits: 100 });
      const { hash, ...properties } = key;
      const own = await one.createKey({
        ...properties,
        accountId: poor.id,
        hash: 'b'.repeat(hash.length),
      });
      const paid = await Promise.allSettled(
        Array.from({ length: 30 }, (_, n) =>
          (n % 2 ? one : other).createTask(taskFor(own, { reservation: 10 })),
        ),
      );
      expect(paid.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      expect(await findInconsistencies(other)).toEqual([]);
    });

    it('return the same task for an idempotency key', async () => {
      const { one, other, key } = await two();
      const task = taskFor(key, { idempotency: { key: 'k', fingerprint: 'f' } });
      const made = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (n % 2 ? one : other).createTask(task)),
      );
      expect(new Set(made.map(({ task: { id } }) => id)).size).toBe(1);
      expect(made.filter(({ created }) => created)).toHaveLength(1);
      expect(await everyTask(one)).toHaveLength(1);
    });

    it('charge requests of one account in full', async () => {
      const { one, other, account, key } = await two();
      const charged = await Promise.all(
        Array.from({ length: 60 }, async (_, n) => {
          const store = n % 2 ? one : other;
          const hold = await store.reserve(account.id, key.id, 3);
          return store.settle(hold, { model: 'm', counts: { requests: 1 }, charge: 2 });
        }),
      );
      expect(charged).toEqual(Array(60).fill(2));
      for (const store of [one, other]) {
        await expect.poll(async () => (await store.findAccount(account.id))!.spent).toBe(120);
      }
      await other.close();
      expect(await findInconsistencies(one)).toEqual([]);
    });

    it('find a key revoked', async () => {
      const { one, other, key } = await two();
      expect((await other.findKey(key.hash))!.key.revokedAt).toBeNull();
      await one.revokeKey(key.id);
      // A second where the machine is idle; far below the minute for which keys hold without a database.
      await expect
        .poll(async () => (await other.findKey(key.hash))!.key.revokedAt, { timeout: 15_000 })
        .not.toBeNull();
    });

    it('claim each delivery once, and those of a node that closed', async () => {
      const { one, other, key } = await two();
      const callbackUrl = 'https://example.com/callback';
      for (let n = 0; n < 12; n += 1) {
        await one.expireTask((await one.createTask(taskFor(key, { ...free, callbackUrl }))).task);
      }
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (n % 2 ? one : other).claimDeliveries({ limit: 3 })),
      );
      const ids = claims.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
      expect(ids).toHaveLength(12);
      expect(new Set(ids).size).toBe(12);
      const held = claims.find((_, n) => n % 2 === 1)!.deliveries[0]!;
      const attempt = { at: 1, status: 204, error: null, milliseconds: 1 };
      const foreign = other.recordAttempt(held, attempt, { status: 'delivered' });
      await expect(foreign).rejects.toEqual(failureWith('claim_lost', 409));
      await one.recordAttempt(held, attempt, { status: 'delivered' });
      await one.close();
      await expect
        .poll(async () => (await other.claimDeliveries({ limit: 99 })).deliveries.length)
        .toBeGreaterThan(0);
    });

    it('report ends of tasks to each other', async () => {
      const { one, other, key } = await two();
      const events: StoreEvent[] = [];
      onTestFinished(other.watch((event) => events.push(event)));
      const { task } = await one.createTask(taskFor(key));
      await one.expireTask(task);
      const { id, accountId } = task;
      await expect
        .poll(() => events)
        .toContainEqual({ kind: 'task', id, accountId, status: 'expired' });
    });

    it('run work under one lock one at a time', async () => {
      const { one, other } = await two();
      await expectExclusive([one, other]);
    });
  });
}

async function expectExclusive(stores: readonly [Store, Store]): Promise<void> {
  let running = 0;
  let most = 0;
  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    running -= 1;
  };
  await Promise.all(
    Array.from({ length: 6 }, (_, n) => stores[n % 2 ? 1 : 0].withLock('test', work)),
  );
  expect(most).toBe(1);
}
