import { Failure } from '../../../../failure.ts';
import { getOrInsert } from '../../../../maps.ts';
import type { Asset } from '../../../asset.ts';
import { type Delivery, deliveryEnded, isDue, withAttempt } from '../../../delivery.ts';
import { conflict, notFound } from '../../../errors.ts';
import {
  addUpload,
  claimedTaskMethods,
  claimTasks,
  createTask,
  expireTasks,
} from '../../../operations/tasks.ts';
import type { Store } from '../../../store.ts';
import { sameRequest, type Task, type TaskState } from '../../../task.ts';
import { compositeKey, SPENT, UPLOADS } from '../state/state.ts';
import { type ArchivedBody, checkAssetIds, findArchivedTask } from './archiver.ts';
import type { Records } from './records.ts';

/** The methods that change tasks, with the assets and the delivery of each. */
export function taskMethods(records: Records) {
  const { archive, commits, node, now } = records;

  function* inState(...states: readonly TaskState[]): Generator<Task, void> {
    for (const state of states) {
      for (const [, task] of records.state.tasksInState.oldest(state)) yield task;
    }
  }
  const orderOf = (accountId: string, { key }: NonNullable<Task['idempotency']>) =>
    records.state.taskByIdempotency.order(compositeKey(accountId, key));

  async function claim(tasks: readonly Task[]): Promise<readonly Task[]> {
    if (tasks.length === 0) return tasks;
    const ids = tasks.map(({ id }) => id);
    return records.run(claimTasks(ids, () => true, { node, at: now() }));
  }

  const findTaskByIdempotencyKey: Store['findTaskByIdempotencyKey'] = async (
    accountId,
    idempotency,
  ) => {
    const order = orderOf(accountId, idempotency);
    if (order !== undefined) {
      const same = sameRequest(records.state.tasks.rows.get(order)!, idempotency);
      await commits.rowSynced('tasks', order);
      return same;
    }
    const { key } = idempotency;
    const archived = await archive.find('idempotency', compositeKey(accountId, key), (_, body) => {
      const { task } = body as ArchivedBody;
      return task?.accountId === accountId && task.idempotency?.key === key ? task : undefined;
    });
    return archived && sameRequest(archived, idempotency);
  };

  return {
    ...claimedTaskMethods({
      claimant: () => ({ node, at: now() }),
      async run(operation, assets) {
        await checkAssetIds(archive, assets);
        try {
          return await records.run(operation);
        } catch (error) {
          if (!(error instanceof Failure) || error.code !== 'task_not_found') throw error;
          const archived = await findArchivedTask(archive, operation.needs.tasks![0]!);
          if (!archived) throw error;
          const { id, status } = archived.body.task;
          throw conflict(`${id} is ${status}: it has ended`, 'task_state');
        }
      },
      changed: (task) => task,
    }),

    findTaskByIdempotencyKey,

    async createTask(task) {
      records.checkBacklog();
      const { accountId, idempotency, assets } = task;
      if (assets.length > 0) await checkAssetIds(archive, assets);
      while (idempotency) {
        const same = await findTaskByIdempotencyKey(accountId, idempotency);
        if (same) return { task: same, created: false };
        // Another request may have created the task during the await.
        if (orderOf(accountId, idempotency) === undefined) break;
      }
      // Synchronous from here to the commit, so that no other method changes the records.
      return records.run(createTask(task, { scopes: records.scopes, at: now() }));
    },

    async claimTask(id) {
      const task = records.state.taskById.get(id);
      return task?.status === 'pending' ? (await claim([task]))[0] : undefined;
    },

    /** Claims pending tasks of the accounts with the fewest processing ones, the oldest of each. */
    async claimPending({ limit, exceptModels = [] }) {
      const at = now();
      const queues = new Map<string, Task[]>();
      for (const task of inState('pending')) {
        if (exceptModels.includes(task.model) || task.deadline <= at) continue;
        getOrInsert(queues, task.accountId, () => []).push(task);
      }
      const processing = new Map<string, number>();
      for (const { accountId } of queues.size > 1 ? inState('processing') : []) {
        processing.set(accountId, (processing.get(accountId) ?? 0) + 1);
      }
      const chosen: Task[] = [];
      // Accounts by their processing tasks; in rounds, each of which gives a task to those with the fewest.
      for (let count = 0; chosen.length < limit && queues.size > 0; count += 1) {
        for (const [accountId, queue] of queues) {
          if ((processing.get(accountId) ?? 0) > count) continue;
          if (chosen.length === limit) break;
          chosen.push(queue.shift()!);
          if (queue.length === 0) queues.delete(accountId);
        }
      }
      return claim(chosen);
    },

    /** Claims processing tasks of earlier processes. */
    async claimOrphans({ limit, exceptModels = [] }) {
      const orphans: Task[] = [];
      for (const task of inState('processing')) {
        if (orphans.length === limit) break;
        if (task.node !== node && !exceptModels.includes(task.model)) orphans.push(task);
      }
      return claim(orphans);
    },

    /** Expires tasks after their deadlines that this process does not work on. */
    async expireOverdue(limit) {
      const at = now();
      const overdue: Task[] = [];
      for (const task of inState('pending', 'processing')) {
        if (overdue.length === limit) break;
        if (task.deadline <= at && task.node !== node) overdue.push(task);
      }
      // Each in a transaction of its own: tasks of one account change the same sums.
      const expired = overdue.map(({ id }) => records.run(expireTasks([id], () => true, at)));
      return (await Promise.all(expired)).flat();
    },
  } satisfies Partial<Store>;
}

/** The methods that claim deliveries and record their attempts. */
export function deliveryMethods(records: Records) {
  /** Identifiers of deliveries that this process has claimed. */
  const claimed = new Set<string>();
  return {
    async claimDeliveries({ limit, exceptAccounts = [] }) {
      const { commits, now } = records;
      // A delivery that is being written could be sent although its task has not ended on disk.
      await commits.synced()?.catch(() => {});
      const at = now();
      const due: Delivery[] = [];
      let nextAt = Infinity;
      for (const [order, delivery] of records.state.deliveriesInState.oldest('pending')) {
        if (claimed.has(delivery.id) || exceptAccounts.includes(delivery.accountId)) continue;
        if (!isDue(delivery, at)) nextAt = Math.min(nextAt, delivery.nextAt!);
        else if (commits.durable('deliveries', order) === delivery) due.push(delivery);
        else nextAt = at;
      }
      due.sort((one, other) => one.nextAt! - other.nextAt!);
      const deliveries = due.slice(0, limit);
      for (const { id } of deliveries) claimed.add(id);
      if (due.length > limit) nextAt = at;
      return { deliveries, nextAt: nextAt === Infinity ? null : nextAt };
    },
    async recordAttempt(known, attempt, outcome) {
      const stored = records.state.deliveryById.get(known.id);
      if (!stored) {
        const isOver = await records.archive.has('delivery', known.id);
        throw isOver ? deliveryEnded(known.id) : notFound('delivery', known.id);
      }
      const delivery = withAttempt(stored, known, attempt, outcome);
      await records.change((transaction) => transaction.put('delivery', delivery));
      claimed.delete(known.id);
      return delivery;
    },
  } satisfies Partial<Store>;
}

/** Maximum inputs that one transaction deletes. */
const MAX_DELETED_INPUTS = 1000;

/** The methods that change uploads, which are assets without a task, and inputs of ended tasks. */
export function uploadMethods(records: Records) {
  async function remove(rows: readonly [order: number, asset: Asset][]): Promise<Asset[]> {
    if (rows.length === 0) return [];
    await records.change(({ changes }) => {
      for (const [order] of rows) changes.push(['assets', order, null]);
    });
    return rows.map(([, asset]) => asset);
  }
  return {
    async addUpload(accountId, upload, quota, charged) {
      records.checkBacklog();
      await checkAssetIds(records.archive, [upload]);
      const { scopes } = records;
      const at = records.now();
      if (charged) records.beginCharge(accountId, charged);
      return records.run(addUpload(accountId, upload, { quota, at, scopes, charged }));
    },
    async removeUploads(accountId, assetIds) {
      const ids = new Set(assetIds);
      const uploads = [...records.state.assetsOfTask.oldest(UPLOADS)];
      return remove(uploads.filter(([, one]) => one.accountId === accountId && ids.has(one.id)));
    },
    async deleteInputs() {
      const inputs = [...records.state.spentInputs.oldest(SPENT)];
      return remove(inputs.slice(0, MAX_DELETED_INPUTS));
    },
    async deleteUploads(madeBefore) {
      const uploads = [...records.state.assetsOfTask.oldest(UPLOADS)];
      return remove(uploads.filter(([, { createdAt }]) => createdAt < madeBefore));
    },
  } satisfies Partial<Store>;
}
