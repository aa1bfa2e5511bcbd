import { unknownCursor } from '../../../errors.ts';
import type { Store } from '../../../store.ts';
import { TASK_STATES, type Task, type TaskQuery, type TaskState } from '../../../task.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { bodyOf } from '../archive/segment.ts';
import { type ArchivedBody, findArchivedDelivery, findArchivedTask } from './archiver.ts';
import type { Records } from './records.ts';

/** The methods that read tasks, their files and deliveries, the ledger, usage and sums. */
export function queries(records: Records) {
  const { archive, commits, bookedState } = records;

  /** @throws Failure 404 `task_not_found`, also for a task of another account */
  async function orderOf(accountId: string | undefined, taskId: string): Promise<number> {
    const { taskById, tasks } = records.state;
    const order = taskById.order(taskId);
    const archived = order === undefined && (await findArchivedTask(archive, taskId));
    const found = archived
      ? { order: archived.record.entry.order, owner: archived.body.task.accountId }
      : order !== undefined && { order, owner: tasks.rows.get(order)!.accountId };
    if (!found || (accountId !== undefined && found.owner !== accountId)) {
      throw unknownCursor('task', taskId);
    }
    return found.order;
  }

  function tasksInMemory(
    { accountId, status, type }: TaskQuery,
    { limit, last }: { readonly limit: number; readonly last: number },
  ): OrderedTask[] {
    const { taskById, tasksOfAccount, tasksInState, allTasks } = records.state;
    const tasks =
      accountId !== undefined
        ? tasksOfAccount.newest(accountId, last)
        : status !== undefined
          ? tasksInState.newest(status, last)
          : allTasks.newest('', last);
    const matches = (task: Task) =>
      (status === undefined || task.status === status) &&
      (type === undefined || task.type === type);
    return takeMatching(tasks, limit, matches).map((task) => ({
      order: taskById.order(task.id)!,
      task,
    }));
  }

  return {
    async findTask(accountId, taskId) {
      const found = await records.readRow('tasks', () => {
        const order = records.state.taskById.order(taskId);
        const value = order === undefined ? undefined : records.state.tasks.rows.get(order);
        return value && { order: order!, value };
      });
      const task = found ?? (await findArchivedTask(archive, taskId))?.body.task;
      return task?.accountId === accountId ? task : undefined;
    },
    async listTasks(query, { limit, after }) {
      const last = after === undefined ? Infinity : await orderOf(query.accountId, after);
      return archive.read(async () => {
        // Rows in memory and segments are of the same moment: what is moved to the archive later is in the rows.
        const { tasks, segments } = await records.readRows(() => ({
          tasks: tasksInMemory(query, { limit, last }),
          segments: archive.segments,
        }));
        return mergeTasks(tasks, archive.newestFirst(segments, query, last), limit);
      });
    },
    /** Does not wait for writes either, so that downloads are not delayed. */
    async findAsset(assetId) {
      const order = bookedState.assetById.order(assetId);
      if (order !== undefined) return commits.durable('assets', order) ?? undefined;
      return archive.find('asset', assetId, (_, body) =>
        (body as ArchivedBody).assets.find(({ id }) => id === assetId),
      );
    },
    async listDeliveries(accountId, taskId) {
      const found = await records.readRows(() => {
        const { taskById, deliveryOfTask } = records.state;
        return { task: taskById.get(taskId), delivery: deliveryOfTask.get(taskId) };
      });
      const archived = found.task ? undefined : await findArchivedTask(archive, taskId);
      const task = found.task ?? archived?.body.task;
      if (task?.accountId !== accountId) return undefined;
      let delivery = found.delivery ?? archived?.body.delivery;
      if (!delivery && archived && task.callbackUrl !== null) {
        delivery = (await findArchivedDelivery(archive, taskId))?.delivery;
      }
      return delivery ? [delivery] : [];
    },
    async listLedger(accountId, { limit, after }) {
      return records.readRows(() =>
        takeMatching(records.state.ledgerOfAccount.newest(accountId, after), limit, () => true),
      );
    },
    async listUsage(accountId, { from, to }) {
      return records.readRows(() => {
        const { usage, usageOfAccount } = records.state;
        const found =
          accountId === undefined
            ? [...usage.rows.values()]
            : Array.from(usageOfAccount.oldest(accountId), ([, row]) => row);
        return found.filter(({ day }) => day >= from && day <= to);
      });
    },
    async timeRange() {
      return records.readRows(() => {
        const { accounts, keys, tasks, assets, ledger } = records.state;
        let from = Infinity;
        let to = archive.newest;
        for (const { createdAt } of accounts.rows.values()) from = Math.min(from, createdAt);
        for (const table of [accounts, keys, assets]) {
          for (const { createdAt } of table.rows.values()) to = Math.max(to, createdAt);
        }
        for (const { updatedAt } of tasks.rows.values()) to = Math.max(to, updatedAt);
        for (const { at } of ledger.rows.values()) to = Math.max(to, at);
        return from === Infinity ? null : { from, to };
      });
    },
    async statistics() {
      const { accounts, keys, tasksInState, tombstoneStateCounts, credits } = records.state;
      const counts = TASK_STATES.map((state, at) => {
        const archived = archive.count(state) - tombstoneStateCounts.of(String(at));
        return [state, tasksInState.count(state) + archived] as const;
      });
      return {
        accounts: accounts.size,
        keys: keys.size,
        tasks: Object.fromEntries(counts) as Record<TaskState, number>,
        credits: { ...credits, reserved: credits.reserved + records.reservations.total },
      };
    },
  } satisfies Partial<Store>;
}

function takeMatching<Row>(
  rows: Iterable<Row>,
  limit: number,
  matches: (row: Row) => boolean,
): Row[] {
  const found: Row[] = [];
  if (limit <= 0) return found;
  for (const row of rows) {
    if (!matches(row)) continue;
    found.push(row);
    if (found.length === limit) break;
  }
  return found;
}

interface OrderedTask {
  readonly order: number;
  readonly task: Task;
}

/** Merges tasks in memory with those of the archive, newest first. */
async function mergeTasks(
  tasks: readonly OrderedTask[],
  records: AsyncGenerator<SegmentRecord>,
  limit: number,
): Promise<Task[]> {
  const merged: Task[] = [];
  let at = 0;
  let next = merged.length < limit ? await records.next() : undefined;
  while (merged.length < limit) {
    const ordered = tasks[at];
    const record = next?.done ? undefined : next?.value;
    if (!ordered && !record) break;
    if (ordered && (!record || ordered.order > record.entry.order)) {
      merged.push(ordered.task);
      at += 1;
    } else {
      merged.push(((await bodyOf(record!)) as ArchivedBody).task!);
      next = await records.next();
    }
  }
  return merged;
}
