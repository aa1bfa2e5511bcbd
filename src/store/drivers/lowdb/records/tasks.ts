import { Failure } from '../../../../failure.ts';
import { type Asset, checkStorageQuota } from '../../../asset.ts';
import { conflict, notFound } from '../../../errors.ts';
import { charge, checkAmount, release, reserve } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import { createdTask } from '../../../new-records.ts';
import type {
  ClaimQuery,
  Completion,
  DeletedRecords,
  NewTask,
  TaskTotals,
} from '../../../store.ts';
import {
  approximateSize,
  checkClaim,
  checkOpenRequests,
  checkOpenTasks,
  claimedTask,
  EXPIRED,
  isTerminal,
  TASK_STATES,
  type Task,
  type TaskClaim,
  type TaskError,
  transition,
  withProgress,
} from '../../../task.ts';
import { bodyOf } from '../archive/archive.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { compositeKey } from '../state/state.ts';
import {
  type ArchivedBody,
  checkAssetIds,
  findArchivedDelivery,
  findArchivedTask,
} from './archiver.ts';
import type { Records } from './records.ts';
import type { Transaction } from './transaction.ts';

/** Maximum tasks that one transaction deletes, and bytes of their records. */
const MAX_DELETED = 1000;
const MAX_DELETED_BYTES = 16 * 2 ** 20;

interface Deletion {
  readonly tasks: Task[];
  readonly assets: Asset[];
}

/** End of a task: its last state, its charge, and its results. */
interface TaskEnd extends Partial<Pick<Completion, 'result' | 'counts' | 'assets'>> {
  readonly status: 'completed' | 'failed' | 'expired';
  readonly error?: TaskError;
  readonly charge: number;
}

type Idempotency = NonNullable<Task['idempotency']>;

/** The methods that change tasks, with the assets and the delivery of each. */
export class TaskWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async create(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    const { state, now } = this.#records;
    const { accountId, idempotency, assets } = task;
    if (assets.length > 0) await checkAssetIds(this.#records.archive, assets);
    while (idempotency) {
      const same = await this.findByIdempotencyKey(accountId, idempotency);
      if (same) return { task: same, created: false };
      // Another request may have created the task during the await.
      if (this.#orderOf(accountId, idempotency) === undefined) break;
    }
    // Synchronous from here to the commit, so that no other method changes the records.
    const before = this.#records.holder(task);
    checkOpenTasks(state.openTaskCounts.of(accountId), task.maxOpenTasks);
    checkOpenRequests(state.openRequestBytes.of(accountId), task.request);
    const bytes = assets.reduce((sum, asset) => sum + asset.bytes, 0);
    checkStorageQuota(state.storedBytes.of(accountId), bytes, task.storageQuota);
    const at = now();
    const scope = this.#records.scopeOf(before);
    const { of } = this.#records.reservations;
    const funds = reserve(this.#records.funds(before, scope), task.reservation, of, at);
    const created = createdTask(task, scope, { id: newId('task'), at });
    const transaction = this.#records.begin();
    transaction.changes.push(['tasks', state.tasks.newOrder(), created]);
    for (const asset of assets) {
      transaction.asset(accountId, created.id, asset, { input: 'needed' });
    }
    if (task.reservation > 0) transaction.funds(funds);
    transaction.taskEntry(funds, 'reserve', task.reservation, created);
    await this.#records.commit(transaction);
    return { task: created, created: true };
  }

  async findByIdempotencyKey(
    accountId: string,
    idempotency: Idempotency,
  ): Promise<Task | undefined> {
    const { state, commits, archive } = this.#records;
    const order = this.#orderOf(accountId, idempotency);
    if (order !== undefined) {
      const same = sameRequest(state.tasks.rows.get(order)!, idempotency);
      await commits.rowSynced('tasks', order);
      return same;
    }
    const { key } = idempotency;
    const archived = await archive.find('idempotency', compositeKey(accountId, key), (_, body) => {
      const { task } = body as ArchivedBody;
      return task?.accountId === accountId && task.idempotency?.key === key ? task : undefined;
    });
    return archived && sameRequest(archived, idempotency);
  }

  #orderOf(accountId: string, { key }: Idempotency): number | undefined {
    return this.#records.state.taskByIdempotency.order(compositeKey(accountId, key));
  }

  async claim(id: string): Promise<Task | undefined> {
    const { state, node, now } = this.#records;
    const task = state.taskById.get(id);
    if (task?.status !== 'pending') return undefined;
    return this.#writeOne(claimedTask(task, node, now()));
  }

  /** Claims pending tasks of the accounts with the fewest processing ones, the oldest of each. */
  async claimPending({ limit, exceptModels = [] }: ClaimQuery): Promise<readonly Task[]> {
    const { node, now } = this.#records;
    const at = now();
    const queues = new Map<string, Task[]>();
    for (const task of this.#inState('pending')) {
      if (exceptModels.includes(task.model) || task.deadline <= at) continue;
      const queue = queues.get(task.accountId);
      if (queue) queue.push(task);
      else queues.set(task.accountId, [task]);
    }
    const processing = new Map<string, number>();
    for (const { accountId } of queues.size > 1 ? this.#inState('processing') : []) {
      processing.set(accountId, (processing.get(accountId) ?? 0) + 1);
    }
    const claimed: Task[] = [];
    // Accounts by their processing tasks; in rounds, each of which gives a task to those with the fewest.
    for (let count = 0; claimed.length < limit && queues.size > 0; count += 1) {
      for (const [accountId, queue] of queues) {
        if ((processing.get(accountId) ?? 0) > count) continue;
        if (claimed.length === limit) break;
        claimed.push(claimedTask(queue.shift()!, node, at));
        if (queue.length === 0) queues.delete(accountId);
      }
    }
    return this.#write(claimed);
  }

  /** Claims processing tasks of earlier processes. */
  async claimOrphans({ limit, exceptModels = [] }: ClaimQuery): Promise<readonly Task[]> {
    const { node, now } = this.#records;
    const claimed: Task[] = [];
    for (const task of this.#inState('processing')) {
      if (claimed.length === limit) break;
      if (task.node === node || exceptModels.includes(task.model)) continue;
      claimed.push(claimedTask(task, node, now()));
    }
    return this.#write(claimed);
  }

  /** Expires tasks after their deadlines that this process does not work on. */
  async expireOverdue(limit: number): Promise<readonly Task[]> {
    const { node, now } = this.#records;
    const at = now();
    const overdue: Task[] = [];
    for (const task of [...this.#inState('pending'), ...this.#inState('processing')]) {
      if (overdue.length === limit) break;
      if (task.deadline <= at && task.node !== node) overdue.push(task);
    }
    return Promise.all(
      overdue.map((task) => this.#end(task, { status: 'expired', error: EXPIRED, charge: 0 })),
    );
  }

  *#inState(status: 'pending' | 'processing'): Generator<Task, void> {
    for (const [, task] of this.#records.state.tasksInState.oldest(status)) yield task;
  }

  async requeue(claim: TaskClaim): Promise<Task> {
    const task = this.#claimed(claim) ?? (await this.#rejectUnknown(claim.id));
    return this.#writeOne(transition(task, 'pending', this.#records.now()));
  }

  async saveProgress(claim: TaskClaim, progress: unknown): Promise<Task> {
    const task = this.#claimed(claim) ?? (await this.#rejectUnknown(claim.id));
    return this.#writeOne(withProgress(task, progress, this.#records.now()));
  }

  async end(claim: TaskClaim, ending: TaskEnd): Promise<Task> {
    checkAmount(ending.charge, 'charge');
    if (ending.assets?.length) await checkAssetIds(this.#records.archive, ending.assets);
    return this.#end(this.#claimed(claim) ?? (await this.#rejectUnknown(claim.id)), ending);
  }

  async #end(task: Task, ending: TaskEnd): Promise<Task> {
    const { id } = task;
    const charged = Math.min(ending.charge, task.reserved);
    const ended = transition(task, ending.status, this.#records.now(), {
      result: ending.result ?? null,
      error: ending.error ?? null,
      reserved: 0,
      charged,
    });
    const funds = this.#records.funds(this.#records.holder(task), task.scope);
    const paid = charge(funds, charged);
    const released = release(paid, task.reserved - charged);
    const transaction = this.#records.begin();
    transaction.task(ended);
    for (const [order, asset] of this.#records.state.assetsOfTask.oldest(id)) {
      // Inputs of version 1 have no such field, and stay as long as their task.
      if (asset.input) transaction.changes.push(['assets', order, { ...asset, input: 'spent' }]);
    }
    for (const asset of ending.assets ?? []) transaction.asset(task.accountId, id, asset);
    if (ended.callbackUrl !== null) transaction.delivery(ended, ended.callbackUrl);
    if (task.reserved > 0) transaction.funds(released);
    transaction.taskEntry(paid, 'charge', charged, task);
    transaction.taskEntry(released, 'release', task.reserved - charged, task);
    const isCompleted = ending.status === 'completed';
    const counts = { requests: 1, errors: isCompleted ? 0 : 1, ...ending.counts };
    transaction.usage(task, task.model, counts, charged);
    await this.#records.commit(transaction);
    return ended;
  }

  async deleteEnded(endedBefore: number): Promise<DeletedRecords> {
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

  async trim(accountId: string, limits: TaskTotals): Promise<DeletedRecords> {
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

  async #writeOne(task: Task): Promise<Task> {
    await this.#write([task]);
    return task;
  }

  async #write(tasks: readonly Task[]): Promise<readonly Task[]> {
    if (tasks.length === 0) return tasks;
    const transaction = this.#records.begin();
    for (const task of tasks) transaction.task(task);
    await this.#records.commit(transaction);
    return tasks;
  }

  /** The task of a claim; undefined for one that is not in memory. @throws Failure 409 `claim_lost` */
  #claimed(claim: TaskClaim): Task | undefined {
    const { state, node } = this.#records;
    const task = state.taskById.get(claim.id);
    if (task) checkClaim(task, claim, node);
    return task;
  }

  /** @throws Failure 409 `task_state` for an archived task, which has ended, and else 404 */
  async #rejectUnknown(id: string): Promise<never> {
    const archived = await findArchivedTask(this.#records.archive, id);
    if (!archived) throw notFound('task', id);
    throw conflict(`${id} is ${archived.body.task.status}: it has ended`, 'task_state');
  }
}

/** @throws Failure 409 `idempotency_conflict` if the key was used with another request */
function sameRequest(task: Task, { fingerprint }: Idempotency): Task {
  if (task.idempotency!.fingerprint === fingerprint) return task;
  const message = 'this idempotency key came with another request before';
  throw conflict(message, 'idempotency_conflict');
}
