import type { Asset } from '../../../asset.ts';
import type { Delivery } from '../../../delivery.ts';
import { unknownCursor } from '../../../errors.ts';
import type { StoreStatistics, TimeRange } from '../../../health.ts';
import type { LedgerEntry, UsageRow } from '../../../ledger.ts';
import type { Page } from '../../../selection.ts';
import { TASK_STATES, type Task, type TaskQuery, type TaskState } from '../../../task.ts';
import { bodyOf } from '../archive/archive.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { AccountReader } from './account-reader.ts';
import { type ArchivedBody, findArchivedDelivery, findArchivedTask } from './archiver.ts';

/** The methods that read. */
export class StoreReader extends AccountReader {
  async findTask(accountId: string, taskId: string): Promise<Task | undefined> {
    const found = await this.readRow('tasks', () => {
      const order = this.records.state.taskById.order(taskId);
      const value = order === undefined ? undefined : this.records.state.tasks.rows.get(order);
      return value && { order: order!, value };
    });
    const task = found ?? (await findArchivedTask(this.records.archive, taskId))?.body.task;
    return task?.accountId === accountId ? task : undefined;
  }

  async listTasks(query: TaskQuery, { limit, after }: Page<string>): Promise<readonly Task[]> {
    const last = after === undefined ? Infinity : await this.#orderOf(query.accountId, after);
    const { archive } = this.records;
    return archive.read(async () => {
      // Rows in memory and segments are of the same moment: what is moved to the archive later is in the rows.
      const { tasks, segments } = await this.readRows(() => ({
        tasks: this.#tasksInMemory(query, { limit, last }),
        segments: archive.segments,
      }));
      return mergeTasks(tasks, archive.newestFirst(segments, query, last), limit);
    });
  }

  /** @throws Failure 404 `task_not_found`, also for a task of another account */
  async #orderOf(accountId: string | undefined, taskId: string): Promise<number> {
    const { taskById, tasks } = this.records.state;
    const order = taskById.order(taskId);
    const archived = order === undefined && (await findArchivedTask(this.records.archive, taskId));
    const found = archived
      ? { order: archived.record.entry.order, owner: archived.body.task.accountId }
      : order !== undefined && { order, owner: tasks.rows.get(order)!.accountId };
    if (!found || (accountId !== undefined && found.owner !== accountId)) {
      throw unknownCursor('task', taskId);
    }
    return found.order;
  }

  #tasksInMemory(
    { accountId, status, type }: TaskQuery,
    { limit, last }: { readonly limit: number; readonly last: number },
  ): OrderedTask[] {
    const { taskById, tasksOfAccount, tasksInState, allTasks } = this.records.state;
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

  /** Does not wait for writes either, so that downloads are not delayed. */
  async findAsset(assetId: string): Promise<Asset | undefined> {
    const { bookedState, commits, archive } = this.records;
    const order = bookedState.assetById.order(assetId);
    if (order !== undefined) return commits.durable<Asset>('assets', order) ?? undefined;
    return archive.find('asset', assetId, (_, body) =>
      (body as ArchivedBody).assets.find(({ id }) => id === assetId),
    );
  }

  async listDeliveries(
    accountId: string,
    taskId: string,
  ): Promise<readonly Delivery[] | undefined> {
    const { archive } = this.records;
    const found = await this.readRows(() => {
      const { taskById, deliveryOfTask } = this.records.state;
      return { task: taskById.get(taskId), delivery: deliveryOfTask.get(taskId) };
    });
    const archived = found.task ? undefined : await findArchivedTask(archive, taskId);
    const task = found.task ?? archived?.body.task;
    if (task?.accountId !== accountId) return undefined;
    const delivery =
      found.delivery ??
      archived?.body.delivery ??
      (archived && task.callbackUrl !== null
        ? (await findArchivedDelivery(archive, taskId))?.delivery
        : undefined);
    return delivery ? [delivery] : [];
  }

  async listLedger(
    accountId: string,
    { limit, after }: Page<number>,
  ): Promise<readonly LedgerEntry[]> {
    return this.readRows(() =>
      takeMatching(this.records.state.ledgerOfAccount.newest(accountId, after), limit, () => true),
    );
  }

  async listUsage(
    accountId: string | undefined,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<readonly UsageRow[]> {
    return this.readRows(() => {
      const { usage, usageOfAccount } = this.records.state;
      const found =
        accountId === undefined
          ? [...usage.rows.values()]
          : Array.from(usageOfAccount.oldest(accountId), ([, row]) => row);
      return found.filter(({ day }) => day >= from && day <= to);
    });
  }

  async timeRange(): Promise<TimeRange | null> {
    return this.readRows(() => {
      const { accounts, keys, tasks, assets, ledger } = this.records.state;
      let from = Infinity;
      let to = -Infinity;
      for (const { createdAt } of accounts.rows.values()) {
        from = Math.min(from, createdAt);
        to = Math.max(to, createdAt);
      }
      for (const { createdAt } of keys.rows.values()) to = Math.max(to, createdAt);
      for (const { createdAt } of assets.rows.values()) to = Math.max(to, createdAt);
      for (const { updatedAt } of tasks.rows.values()) to = Math.max(to, updatedAt);
      for (const { at } of ledger.rows.values()) to = Math.max(to, at);
      to = Math.max(to, this.records.archive.newest);
      return from === Infinity ? null : { from, to };
    });
  }

  async statistics(): Promise<StoreStatistics> {
    const { accounts, keys, tasksInState, tombstoneStateCounts, credits } = this.records.state;
    const { archive } = this.records;
    const counts = TASK_STATES.map((state, at) => {
      const archived = archive.count(state) - tombstoneStateCounts.of(String(at));
      return [state, tasksInState.count(state) + archived] as const;
    });
    return {
      accounts: accounts.size,
      keys: keys.size,
      tasks: Object.fromEntries(counts) as Record<TaskState, number>,
      credits: { ...credits, reserved: credits.reserved + this.records.reservations.total },
    };
  }
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
