import { Failure } from '../../../../failure.ts';
import type { Asset } from '../../../asset.ts';
import type { Store } from '../../../store.ts';
import {
  approximateSize,
  type DeletedRecords,
  isTerminal,
  MAX_DELETED_BYTES,
  MAX_DELETED_TASKS,
  TASK_STATES,
  type Task,
  type TaskTotals,
} from '../../../task.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { bodyOf } from '../archive/segment.ts';
import { type ArchivedBody, findArchivedDelivery, findArchivedTask } from './archiver.ts';
import type { Records } from './records.ts';
import type { Transaction } from './transaction.ts';

type TaskName = Pick<Task, 'accountId' | 'id'>;
type Deletion = { readonly [Kind in keyof DeletedRecords]: DeletedRecords[Kind][number][] };

/** The methods that delete ended tasks, in memory and in the archive. */
export function endedTaskMethods(records: Records) {
  const { archive, bookedState: state } = records;

  /** Runs a deletion as one transaction, while no task moves to the archive. */
  const deleteIn = (
    work: (transaction: Transaction, deleted: Deletion) => Promise<void>,
  ): Promise<DeletedRecords> =>
    records.archiver.runExclusive(async () => {
      const deleted: Deletion = { tasks: [], assets: [] };
      const transaction = records.begin();
      await work(transaction, deleted);
      await records.commit(transaction);
      return deleted;
    });

  /** Number and size of an account's ended tasks. */
  function endedTotals(accountId: string): TaskTotals {
    const { endedTaskCounts, endedBytes, resultBytes, tombstoneTaskCounts, tombstoneBytes } = state;
    const archived = archive.totalsOf(accountId);
    const inMemory = endedBytes.of(accountId) + resultBytes.of(accountId);
    return {
      tasks: endedTaskCounts.of(accountId) + archived.tasks - tombstoneTaskCounts.of(accountId),
      bytes: inMemory + archived.bytes - tombstoneBytes.of(accountId),
    };
  }

  const hasOpenDelivery = (taskId: string) =>
    state.deliveryOfTask.get(taskId)?.status === 'pending';

  function* endedInMemory(endedBefore: number): Generator<[order: number, task: Task]> {
    for (const status of TASK_STATES.filter(isTerminal)) {
      for (const [order, task] of state.tasksInState.oldest(status)) {
        if (task.updatedAt < endedBefore && !hasOpenDelivery(task.id)) yield [order, task];
      }
    }
  }

  function* inMemory({ accountId, id }: TaskName): Generator<[order: number, task: Task]> {
    const order = state.taskById.order(id);
    const task = state.taskById.get(id);
    if (order === undefined || task?.accountId !== accountId || hasOpenDelivery(id)) return;
    if (isTerminal(task.status)) yield [order, task];
  }

  async function* inArchive({ accountId, id }: TaskName): AsyncGenerator<SegmentRecord> {
    const found = await findArchivedTask(archive, id);
    if (found?.body.task.accountId === accountId) yield found.record;
  }

  /** Deletes the assets and the delivery of a task. Returns the assets. */
  function deleteRelated({ id }: Task, { changes }: Transaction): Asset[] {
    const delivery = state.deliveryOfTask.order(id);
    if (delivery !== undefined) changes.push(['deliveries', delivery, null]);
    const assets = [...state.assetsOfTask.oldest(id)];
    for (const [order] of assets) changes.push(['assets', order, null]);
    return assets.map(([, asset]) => asset);
  }

  function deleteRow(order: number, task: Task, transaction: Transaction, deleted: Deletion): void {
    transaction.changes.push(['tasks', order, null]);
    deleted.assets.push(...deleteRelated(task, transaction));
    deleted.tasks.push(task);
  }

  /**
   * Deletes archived tasks up to the maximum of one transaction.
   *
   * @param isNext whether to delete a task; stops at the first false
   */
  async function deleteArchived(
    candidates: AsyncGenerator<SegmentRecord>,
    transaction: Transaction,
    deleted: Deletion,
    isNext: (record: SegmentRecord) => boolean,
  ): Promise<void> {
    let bytes = 0;
    for await (const record of candidates) {
      if (deleted.tasks.length >= MAX_DELETED_TASKS || bytes >= MAX_DELETED_BYTES) return;
      const body = await readableBody(record);
      if (!body?.task || hasOpenDelivery(body.task.id)) continue;
      if (!isNext(record)) return;
      bytes += record.entry.length;
      transaction.tombstone(record);
      deleted.tasks.push(body.task);
      deleted.assets.push(...body.assets, ...deleteRelated(body.task, transaction));
      if (body.task.callbackUrl === null || body.delivery) continue;
      const delivery = await findArchivedDelivery(archive, body.task.id);
      if (delivery) transaction.tombstone(delivery.record);
    }
  }

  return {
    async deleteTasks(which) {
      const isOne = typeof which !== 'number';
      return deleteIn(async (transaction, deleted) => {
        for (const [order, task] of isOne ? inMemory(which) : endedInMemory(which)) {
          if (deleted.tasks.length >= MAX_DELETED_TASKS) break;
          deleteRow(order, task, transaction, deleted);
        }
        const archived = isOne ? inArchive(which) : archive.endedBefore(which);
        await deleteArchived(archived, transaction, deleted, () => true);
      });
    },
    async trimTasks(accountId, limits) {
      let { tasks, bytes } = endedTotals(accountId);
      const isOver = () => tasks > limits.tasks || bytes > limits.bytes;
      if (!isOver()) return { tasks: [], assets: [] };
      return deleteIn(async (transaction, deleted) => {
        ({ tasks, bytes } = endedTotals(accountId));
        await deleteArchived(archive.oldestFirst(accountId), transaction, deleted, ({ entry }) => {
          if (!isOver()) return false;
          tasks -= 1;
          bytes -= entry.bytes;
          return true;
        });
        // Tasks in memory ended after those of the archive.
        for (const [order, task] of state.tasksOfAccount.oldest(accountId)) {
          if (deleted.tasks.length >= MAX_DELETED_TASKS || !isOver()) break;
          if (!isTerminal(task.status) || hasOpenDelivery(task.id)) continue;
          const { length } = deleted.assets;
          deleteRow(order, task, transaction, deleted);
          tasks -= 1;
          bytes -= approximateSize(task);
          for (const asset of deleted.assets.slice(length)) bytes -= asset.bytes;
        }
      });
    },
  } satisfies Partial<Store>;
}

/** Undefined if the record is damaged. Its segment reported that; other records must still be deleted. */
async function readableBody(record: SegmentRecord): Promise<ArchivedBody | undefined> {
  try {
    return (await bodyOf(record)) as ArchivedBody;
  } catch (error) {
    if (error instanceof Failure && error.code === 'record_damaged') return undefined;
    throw error;
  }
}
