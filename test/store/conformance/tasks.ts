import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../src/store/account.ts';
import type { Store } from '../../../src/store/store.ts';
import type { NewTask } from '../../../src/store/task.ts';
import { claimOf, everyTask, findInconsistencies, openTasks } from '../consistency.ts';
import { bothOf, failureWith, freshStore, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { BROKEN, CREDIT, completionOf, keyFor, newAsset, stranger, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 21, 12);
const ALL_DAYS = { from: '2026-01-01', to: '2026-12-31' };

/** Tests of tasks and idempotency keys for every driver, which plan the query of claims over so many accounts. */
export function describeTasks(driver: DriverFactory, accounts = 1000): void {
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('tasks', () => {
    it('completes a task and charges its cost', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({
        now: () => now,
        credits: 10 * CREDIT,
      });
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
      const [startedAt, updatedAt] = [NOON + 1, NOON + 1];
      expect(claimed).toEqual({
        ...task,
        status: 'processing',
        attempts: 1,
        node: expect.stringMatching(/^node_/),
        startedAt,
        updatedAt,
      });
      expect(await store.claimTask(task.id)).toBeUndefined();
      const result = { data: [{ url: 'https://example.com/1' }] };
      const counts = { outputs: 1, requests: 1 };
      const completion = completionOf({ result, charge: 3 * CREDIT, counts });
      const ended = await store.completeTask(await claimOf(store, task.id), completion);
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
            keyId: key.id,
            day: '2026-11-21',
            model: 'some-image-model',
            requests: 1,
            inputTokens: 0,
            cachedInputTokens: 0,
            cacheWriteTokens: 0,
            cacheWrite1hTokens: 0,
            cacheHits: 0,
            outputTokens: 0,
            outputs: 1,
            errors: 0,
            spent: 3 * CREDIT,
          },
        ]);
        expect(await findInconsistencies(one)).toEqual([]);
      }
    });

    it('releases the reservation of failed and expired tasks, except for a given charge', async () => {
      const { store, account, key } = await owned({ credits: 10 });
      const make = async () => (await store.createTask(taskFor(key, { reservation: 3 }))).task.id;
      const [failed, billed, expired] = [await make(), await make(), await make()];
      await store.claimTask(billed);
      const error = { type: 'service_error', message: 'broken', code: null } as const;
      expect(await store.failTask(await claimOf(store, failed), error)).toMatchObject({
        status: 'failed',
        error,
      });
      expect(await store.failTask(await claimOf(store, billed), error, 2)).toMatchObject({
        charged: 2,
        reserved: 0,
      });
      expect(await store.expireTask(await claimOf(store, expired))).toMatchObject({
        status: 'expired',
        error: { type: 'timeout' },
        charged: 0,
      });
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 0, spent: 2 });
      const usage = { model: 'some-image-model', requests: 3, errors: 3, outputs: 0, spent: 2 };
      expect(await store.listUsage(account.id, ALL_DAYS)).toMatchObject([usage]);
    });

    it('ends a task once', async () => {
      const { store, key } = await owned();
      const { task } = await store.createTask(taskFor(key));
      const completion = completionOf({ charge: CREDIT });
      const state = failureWith('task_state', 409);
      await expect(store.completeTask(await claimOf(store, task.id), completion)).rejects.toEqual(
        state,
      );
      await expect(store.requeueTask(await claimOf(store, task.id))).rejects.toEqual(state);
      const claim = (await store.claimTask(task.id))!;
      const error = { type: 'unknown', message: 'x', code: null } as const;
      const same = await claimOf(store, task.id);
      const ends = await Promise.allSettled([
        store.completeTask(claim, completion),
        store.completeTask(same, completion),
        store.failTask(same, error, CREDIT),
        store.expireTask(same),
      ]);
      expect(ends.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'rejected',
      ]);
      const ended = await claimOf(store, task.id);
      const late = [
        store.completeTask(ended, completion),
        store.failTask(ended, error),
        store.expireTask(ended),
        store.requeueTask(ended),
      ];
      await Promise.all(late.map((change) => expect(change).rejects.toEqual(state)));
      expect(await store.claimTask(task.id)).toBeUndefined();
    });

    it('claims processing tasks of an earlier process as orphans', async () => {
      const { store, reopened, key } = await owned();
      const ids = [];
      for (let n = 0; n < 3; n += 1) ids.push((await store.createTask(taskFor(key))).task.id);
      await store.claimTask(ids[0]!);
      const claim = (await store.claimTask(ids[1]!))!;
      await store.failTask(claim, {
        type: 'timeout',
        message: 'x',
        code: null,
      });
      const again = await reopened();
      expect((await openTasks(again)).map(({ id }) => id)).toEqual([ids[0], ids[2]]);
      const first = { id: ids[0]!, attempts: 1 };
      const lost = failureWith('claim_lost', 409);
      await expect(again.requeueTask(first)).rejects.toEqual(lost);
      await expect(again.completeTask(first, completionOf())).rejects.toEqual(lost);
      const orphans = await again.claimOrphans({ limit: 9 });
      expect(orphans).toMatchObject([{ id: ids[0], status: 'processing', attempts: 2 }]);
      expect(await again.claimOrphans({ limit: 9 })).toEqual([]);
      await expect(again.requeueTask(first)).rejects.toEqual(lost);
      const requeued = await again.requeueTask(orphans[0]!);
      expect(requeued).toMatchObject({ status: 'pending', attempts: 2 });
      expect(requeued).not.toHaveProperty('node');
      expect(await again.claimTask(ids[0]!)).toMatchObject({ attempts: 3 });
    });

    it('claims pending tasks of the accounts with the fewest processing ones first', async () => {
      let now = NOON;
      const { store, key } = await owned({ now: () => now });
      const { foreign } = await stranger(store);
      const make = async (of: ApiKey, change: Partial<NewTask> = {}) =>
        (await store.createTask(taskFor(of, { reservation: 0, ...change }))).task.id;
      const own: string[] = [];
      for (let n = 0; n < 5; n += 1) own.push(await make(key));
      const theirs = [await make(foreign), await make(foreign)];
      const elsewhere = await make(foreign, { model: 'busy' });
      const overdue = await make(foreign, { deadline: NOON + 1 });
      now += 1;
      await store.claimTask(own[0]!);
      const claim = async (limit: number) =>
        (await store.claimPending({ limit, exceptModels: ['busy'] })).map(({ id }) => id);
      expect(await claim(1)).toEqual([theirs[0]]);
      expect((await claim(2)).sort()).toEqual([own[1], theirs[1]].sort());
      expect(await claim(9)).toEqual(own.slice(2));
      expect(await claim(9)).toEqual([]);
      expect(await store.claimPending({ limit: 9 })).toMatchObject([
        { id: elsewhere, status: 'processing', attempts: 1 },
      ]);
      expect(await store.expireOverdue(9)).toMatchObject([{ id: overdue, status: 'expired' }]);
      expect(await store.expireOverdue(9)).toEqual([]);
      const [node] = await store.listNodes();
      expect(node).toMatchObject({ id: expect.stringMatching(/^node_/), claims: 8 });
    });

    it(`claims the oldest task first over ${accounts} accounts with pending tasks`, async () => {
      const { store } = await freshStore(driver, { isUnchecked: true });
      const numbers = Array.from({ length: accounts }, (_, n) => n);
      const tasks = await Promise.all(
        numbers.map(async (n) => {
          const account = { name: `account ${n}`, plan: 'free', credits: 0 } as const;
          const key = await store.createKey(keyFor(await store.createAccount(account)));
          const { task } = await store.createTask(taskFor(key, { reservation: 0 }));
          return task;
        }),
      );
      const page = await store.listTasks({}, { limit: tasks.length });
      const oldest = page.map(({ id }) => id).reverse();
      for (const id of oldest.slice(0, 10)) {
        const [task] = await store.claimPending({ limit: 1 });
        expect(task!.id).toBe(id);
        await store.completeTask(task!, completionOf());
      }
      const rest = await store.claimPending({ limit: 2000 });
      expect(rest.map(({ id }) => id)).toEqual(oldest.slice(10));
    });

    it('rejects the changes of a claim after the next one', async () => {
      const { store, key } = await owned();
      const { task } = await store.createTask(taskFor(key));
      const first = (await store.claimTask(task.id))!;
      const lost = failureWith('claim_lost', 409);
      // The fence of the pending task.
      await expect(store.expireTask(task)).rejects.toEqual(lost);
      await store.requeueTask(first);
      const second = (await store.claimTask(task.id))!;
      const third = (await store.claimTask((await store.requeueTask(second)).id))!;
      for (const change of [
        store.completeTask(second, completionOf()),
        store.failTask(second, BROKEN),
        store.expireTask(first),
        store.requeueTask(second),
        store.saveProgress(second, {}),
      ]) {
        await expect(change).rejects.toEqual(lost);
      }
      expect(await store.completeTask(third, completionOf())).toMatchObject({
        status: 'completed',
        attempts: 3,
      });
    });

    it('rejects tasks above the maximum of open ones, also of concurrent calls', async () => {
      const { store, reopened, account, key } = await owned();
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
      const ids = (await openTasks(store)).map(({ id }) => id);
      const claim = (await store.claimTask(ids[0]!))!;
      await expect(make(store, 3)).rejects.toEqual(full);
      await store.createTask(taskFor(otherKey, { maxOpenTasks: 1 }));
      await store.failTask(claim, BROKEN);
      await store.expireTask(await claimOf(store, ids[1]!));
      const again = await reopened();
      await expect(make(again, 1)).rejects.toEqual(full);
      const idempotency = { key: 'k', fingerprint: 'f' };
      const { task } = await again.createTask(taskFor(key, { maxOpenTasks: 2, idempotency }));
      await expect(make(again, 2)).rejects.toEqual(full);
      // A repeated request creates no further task.
      const repeat = await again.createTask(taskFor(key, { maxOpenTasks: 2, idempotency }));
      expect(repeat).toMatchObject({ created: false, task: { id: task.id } });
      expect((await again.findAccount(account.id))?.reserved).toBe(2 * CREDIT);
    });

    it('finds tasks for their own account only', async () => {
      const { store, account, key } = await owned();
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const { task } = await store.createTask(taskFor(key));
      expect(await store.findTask(account.id, task.id)).toEqual(task);
      expect(await store.findTask(other.id, task.id)).toBeUndefined();
      expect(await store.findTask(account.id, 'task_x')).toBeUndefined();
      expect(await store.listTasks({ accountId: other.id }, { limit: 9 })).toEqual([]);
      const gone = failureWith('task_not_found', 404);
      await expect(store.expireTask(await claimOf(store, 'task_x'))).rejects.toEqual(gone);
    });

    it('lists tasks newest first, in pages, also when the clock goes back', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now });
      const { other, foreign } = await stranger(store);
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
          (await openTasks(one)).map(({ id }) => id).filter((id) => made.includes(id)),
        ).toEqual(made);
        // A task of another account is rejected like an unknown one.
        const [theirs] = await list({ accountId: other.id }, { limit: 1 });
        for (const after of ['task_x', theirs!]) {
          const refused = list(own, { limit: 3, after });
          await expect(refused).rejects.toEqual(failureWith('task_not_found', 404));
          await expect(refused).rejects.toMatchObject({
            message: `after: there is no task "${after}"`,
          });
        }
      }
    });

    it('deletes one ended task of its account', async () => {
      const { store, reopened, account, key } = await owned();
      const [{ task: gone }, { task: kept }, { task: open }] = [
        await store.createTask(taskFor(key)),
        await store.createTask(taskFor(key)),
        await store.createTask(taskFor(key)),
      ];
      for (const { id } of [gone, kept]) await store.expireTask(await claimOf(store, id));
      const none = { tasks: [], assets: [] };
      for (const named of [open, { ...gone, accountId: 'acct_other' }, { ...gone, id: 'task_x' }]) {
        expect(await store.deleteTasks(named)).toEqual(none);
      }
      expect(await store.deleteTasks(gone)).toMatchObject({ tasks: [{ id: gone.id }] });
      for await (const one of bothOf(store, reopened)) {
        expect(await one.deleteTasks(gone)).toEqual(none);
        expect(await one.findTask(account.id, gone.id)).toBeUndefined();
        expect((await everyTask(one)).map(({ id }) => id)).toEqual([open.id, kept.id]);
      }
    });

    it('deletes tasks that ended before a time, and keeps their ledger entries', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now });
      const idempotency = { key: 'k', fingerprint: 'f' };
      const old = (await store.createTask(taskFor(key, { idempotency }))).task;
      await store.expireTask(await claimOf(store, old.id));
      const open = (await store.createTask(taskFor(key))).task;
      now += DAY;
      const late = (await store.createTask(taskFor(key))).task;
      await store.expireTask(await claimOf(store, late.id));
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
      const { store, reopened, account, key } = await owned();
      const { other, foreign } = await stranger(store);
      const end = async (one: Store, change: Partial<NewTask> = {}, bytes = 10_000) => {
        const { task } = await one.createTask(taskFor(key, { reservation: 0, ...change }));
        const claim = (await one.claimTask(task.id))!;
        const assets = [newAsset({ bytes })];
        await one.completeTask(claim, completionOf({ assets }));
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
      // Files count towards the size. They are larger than records, whose size depends on where they are.
      const large = await end(again, {}, 1_000_000);
      expect(await trim(again, 99, 1_025_000)).toHaveLength(8 - 2);
      const left = (await everyTask(again, account.id)).map(({ id }) => id);
      expect(left).toEqual([large.id, made[11]!.id, made[10]!.id, open.id]);
      expect(await everyTask(again, other.id)).toHaveLength(1);
    });

    it('truncates the request of failed and expired tasks', async () => {
      const { store, reopened, account, key } = await owned();
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
      await store.failTask(await claimOf(store, failed), BROKEN);
      await store.expireTask(await claimOf(store, expired));
      await store.completeTask(await claimOf(store, completed), completionOf());
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
      const { store, key } = await owned();
      const { other, foreign } = await stranger(store);
      const prompts = [30, 5].map((megabytes) => 'x'.repeat(megabytes * 2 ** 20));
      // The same string each time: its size counts for each task.
      const [large, small] = prompts.map((prompt) =>
        taskFor(key, { request: { prompt }, reservation: 0 }),
      ) as [NewTask, NewTask];
      const made = [];
      for (let n = 0; n < 2; n += 1) made.push((await store.createTask(large)).task.id);
      await expect(store.createTask(small)).rejects.toEqual(failureWith('too_many_tasks', 429));
      await store.createTask({ ...small, accountId: other.id, keyId: foreign.id });
      await store.expireTask(await claimOf(store, made[0]!));
      await store.createTask(small);
    });

    it('saves progress while a task is processing, and removes it at the end', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now });
      const { task } = await store.createTask(taskFor(key));
      expect(task.progress).toBeNull();
      const state = failureWith('task_state', 409);
      await expect(store.saveProgress(await claimOf(store, task.id), { job: 1 })).rejects.toEqual(
        state,
      );
      const claim = (await store.claimTask(task.id))!;
      now += 5;
      await store.saveProgress(claim, { job: 1 });
      const noted = await store.saveProgress(await claimOf(store, task.id), { job: 2, route: 'a' });
      expect(noted).toMatchObject({ status: 'processing', attempts: 1, updatedAt: NOON + 5 });
      const again = await reopened();
      expect(await again.findTask(account.id, task.id)).toEqual(noted);
      expect(noted.progress).toEqual({ job: 2, route: 'a' });
      const [orphan] = await again.claimOrphans({ limit: 1 });
      expect(await again.requeueTask(orphan!)).toMatchObject({ progress: noted.progress });
      await expect(again.saveProgress(await claimOf(again, task.id), null)).rejects.toEqual(state);
      expect(await again.claimTask(task.id)).toMatchObject({ progress: noted.progress });
      expect(await again.failTask(await claimOf(again, task.id), BROKEN)).toMatchObject({
        progress: null,
      });
      await expect(again.saveProgress(await claimOf(again, task.id), { job: 3 })).rejects.toEqual(
        state,
      );
      await expect(again.saveProgress(await claimOf(again, 'task_x'), {})).rejects.toEqual(
        failureWith('task_not_found', 404),
      );
      for (const end of ['complete', 'expire'] as const) {
        const { id } = (await again.createTask(taskFor(key))).task;
        const claim = (await again.claimTask(id))!;
        await again.saveProgress(claim, { job: 4 });
        const ended = await (end === 'expire'
          ? again.expireTask(await claimOf(again, id))
          : again.completeTask(await claimOf(again, id), completionOf()));
        expect(ended.progress).toBeNull();
      }
    });

    it('returns the request unchanged', async () => {
      const { store, reopened, account, key } = await owned();
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
      const { store, reopened, account, key } = await owned({ credits: 10 });
      const task = taskFor(key, { idempotency, reservation: 6 });
      const both = await Promise.all([store.createTask(task), store.createTask(task)]);
      expect(both.map(({ created }) => created)).toEqual([true, false]);
      expect(both[1]!.task).toEqual(both[0]!.task);
      const again = await reopened();
      const third = await again.createTask(task);
      expect(third).toEqual({ created: false, task: both[0]!.task });
      expect(await again.findTaskByIdempotencyKey(account.id, idempotency)).toEqual(both[0]!.task);
      expect(await again.findAccount(account.id)).toMatchObject({ reserved: 6 });
    });

    it('reject another fingerprint with 409', async () => {
      const { store, key } = await owned();
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
      const { store, key } = await owned();
      const { other, foreign } = await stranger(store);
      const { task } = await store.createTask(taskFor(key, { idempotency }));
      expect(await store.findTaskByIdempotencyKey(other.id, idempotency)).toBeUndefined();
      const theirs = await store.createTask(taskFor(foreign, { idempotency, reservation: 0 }));
      expect(theirs.created).toBe(true);
      await store.expireTask(await claimOf(store, task.id));
      await store.deleteTasks(Infinity);
      expect(await store.findTaskByIdempotencyKey(key.accountId, idempotency)).toBeUndefined();
      expect(await store.createTask(taskFor(key, { idempotency }))).toMatchObject({
        created: true,
      });
    });
  });
}
