import { Failure } from '../../../../failure.ts';
import type { Asset } from '../../../asset.ts';
import {
  approximateSize,
  type DeletedRecords,
  isTerminal,
  TASK_STATES,
  type Task,
  type TaskTotals,
} from '../../../task.ts';
import { bodyOf } from '../archive/archive.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { type ArchivedBody, findArchivedDelivery } from './archiver.ts';
import type { Records } from './records.ts';
import type { Transaction } from './transaction.ts';

/** Maximum tasks that one transaction deletes, and bytes of their records. */
const MAX_DELETED = 1000;
const MAX_DELETED_BYTES = 16 * 2 ** 20;

interface Deletion {
  readonly tasks: Task[];
  readonly assets: Asset[];
}

/** The methods that delete ended tasks, in memory and in the archive. */
export class EndedTaskWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async deleteTasks(endedBefore: number): Promise<DeletedRecords> {
    return this.#records.archiver.runExclusive(async () => {
      const deleted: Deletion = { tasks: [], assets: [] };
      const transaction = this.#records.begin();
      for (const [order, task] of this.#endedInMemory(endedBefore)) {
        if (deleted.tasks.length >= MAX_DELETED) break;
        this.#deleteRow(order, task, transaction, deleted);
      }
      const archived = this.#records.archive.endedBefore(endedBefore);
      await this.#deleteArchived(archived, transaction, deleted, () => true);
      if (transaction.changes.length > 0) await this.#records.commit(transaction);
      return deleted;
    });
  }

  async trimTasks(accountId: string, limits: TaskTotals): Promise<DeletedRecords> {
    const before = this.#endedTotals(accountId);
    if (before.tasks <= limits.tasks && before.bytes <= limits.bytes)
      return { tasks: [], assets: [] };
    return this.#records.archiver.runExclusive(async () => {
      const deleted: Deletion = { tasks: [], assets: [] };
      const transaction = this.#records.begin();
      let { tasks, bytes } = this.#endedTotals(accountId);
      const isOver = () => tasks > limits.tasks || bytes > limits.bytes;
      const archived = this.#records.archive.oldestFirst(accountId);
      await this.#deleteArchived(archived, transaction, deleted, ({ entry }) => {
        if (!isOver()) return false;
        tasks -= 1;
        bytes -= entry.bytes;
        return true;
      });
      // Tasks in memory ended after those of the archive.
      const { tasksOfAccount, deliveryOfTask } = this.#records.state;
      for (const [order, task] of tasksOfAccount.oldest(accountId)) {
        if (deleted.tasks.length >= MAX_DELETED || !isOver()) break;
        if (!isTerminal(task.status) || deliveryOfTask.get(task.id)?.status === 'pending') continue;
        const { length } = deleted.assets;
        this.#deleteRow(order, task, transaction, deleted);
        tasks -= 1;
        bytes -= approximateSize(task);
        for (const asset of deleted.assets.slice(length)) bytes -= asset.bytes;
      }
      if (transaction.changes.length > 0) await this.#records.commit(transaction);
      return deleted;
    });
  }

  /** Number and size of an account's ended tasks. */
  #endedTotals(accountId: string): TaskTotals {
    const { endedTaskCounts, endedBytes, resultBytes, tombstoneTaskCounts, tombstoneBytes } =
      this.#records.state;
    const archived = this.#records.archive.totalsOf(accountId);
    return {
      tasks: endedTaskCounts.of(accountId) + archived.tasks - tombstoneTaskCounts.of(accountId),
      bytes:
        endedBytes.of(accountId) +
        resultBytes.of(accountId) +
        archived.bytes -
        tombstoneBytes.of(accountId),
    };
  }

  *#endedInMemory(endedBefore: number): Generator<[order: number, task: Task]> {
    const { tasksInState, deliveryOfTask } = this.#records.state;
    for (const state of TASK_STATES.filter(isTerminal)) {
      for (const [order, task] of tasksInState.oldest(state)) {
        if (task.updatedAt >= endedBefore) continue;
        if (deliveryOfTask.get(task.id)?.status !== 'pending') yield [order, task];
      }
    }
  }

  #deleteRow(order: number, task: Task, transaction: Transaction, deleted: Deletion): void {
    transaction.changes.push(['tasks', order, null]);
    deleted.assets.push(...this.#deleteRelated(task, transaction));
    deleted.tasks.push(task);
  }

  /**
   * Deletes archived tasks up to the maximum of one transaction.
   *
   * @param isNext whether to delete a task; stops at the first false
   */
  async #deleteArchived(
    records: AsyncGenerator<SegmentRecord>,
    transaction: Transaction,
    deleted: Deletion,
    isNext: (record: SegmentRecord) => boolean,
  ): Promise<void> {
    const { archive, state } = this.#records;
    let bytes = 0;
    for await (const record of records) {
      if (deleted.tasks.length >= MAX_DELETED || bytes >= MAX_DELETED_BYTES) return;
      const body = await this.#bodyOf(record);
      if (!body?.task || state.deliveryOfTask.get(body.task.id)?.status === 'pending') continue;
      if (!isNext(record)) return;
      bytes += record.entry.length;
      transaction.tombstone(record);
      deleted.tasks.push(body.task);
      deleted.assets.push(...body.assets, ...this.#deleteRelated(body.task, transaction));
      if (body.task.callbackUrl === null || body.delivery) continue;
      const delivery = await findArchivedDelivery(archive, body.task.id);
      if (delivery) transaction.tombstone(delivery.record);
    }
  }

  /** Undefined if the record is damaged. Its segment reported that; other records must still be deleted. */
  async #bodyOf(record: SegmentRecord): Promise<ArchivedBody | undefined> {
    try {
      return (await bodyOf(record)) as ArchivedBody;
    } catch (error) {
      if (error instanceof Failure && error.code === 'record_damaged') return undefined;
      throw error;
    }
  }

  /** Deletes the assets and the delivery of a task. Returns the assets. */
  #deleteRelated({ id }: Task, transaction: Transaction): Asset[] {
    const { assetsOfTask, deliveryOfTask } = this.#records.state;
    const delivery = deliveryOfTask.order(id);
    if (delivery !== undefined) transaction.changes.push(['deliveries', delivery, null]);
    const assets = [...assetsOfTask.oldest(id)];
    for (const [order] of assets) transaction.changes.push(['assets', order, null]);
    return assets.map(([, asset]) => asset);
  }
}
