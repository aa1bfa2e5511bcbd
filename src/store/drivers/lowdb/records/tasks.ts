import { checkStorageQuota } from '../../../asset.ts';
import { conflict, notFound } from '../../../errors.ts';
import { charge, checkAmount, release, reserve } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import { createdTask } from '../../../new-records.ts';
import {
  type ClaimQuery,
  type Completion,
  checkClaim,
  checkOpenRequests,
  checkOpenTasks,
  claimedTask,
  EXPIRED,
  type NewTask,
  sameRequest,
  type Task,
  type TaskClaim,
  type TaskEnd,
  type TaskError,
  transition,
  withProgress,
} from '../../../task.ts';
import { compositeKey } from '../state/state.ts';
import { type ArchivedBody, checkAssetIds, findArchivedTask } from './archiver.ts';
import type { Records } from './records.ts';

type Idempotency = NonNullable<Task['idempotency']>;

/** The methods that change tasks, with the assets and the delivery of each. */
export class TaskWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    this.#records.checkBacklog();
    const { state, now } = this.#records;
    const { accountId, idempotency, assets } = task;
    if (assets.length > 0) await checkAssetIds(this.#records.archive, assets);
    while (idempotency) {
      const same = await this.findTaskByIdempotencyKey(accountId, idempotency);
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

  async findTaskByIdempotencyKey(
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

  async claimTask(id: string): Promise<Task | undefined> {
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

  async requeueTask(claim: TaskClaim): Promise<Task> {
    const task = this.#claimed(claim) ?? (await this.#rejectUnknown(claim.id));
    return this.#writeOne(transition(task, 'pending', this.#records.now()));
  }

  async saveProgress(claim: TaskClaim, progress: unknown): Promise<Task> {
    const task = this.#claimed(claim) ?? (await this.#rejectUnknown(claim.id));
    return this.#writeOne(withProgress(task, progress, this.#records.now()));
  }

  completeTask(claim: TaskClaim, completion: Completion): Promise<Task> {
    return this.#endClaimed(claim, { status: 'completed', ...completion });
  }

  failTask(claim: TaskClaim, error: TaskError, charge = 0): Promise<Task> {
    return this.#endClaimed(claim, { status: 'failed', error, charge });
  }

  expireTask(claim: TaskClaim): Promise<Task> {
    return this.#endClaimed(claim, { status: 'expired', error: EXPIRED, charge: 0 });
  }

  async #endClaimed(claim: TaskClaim, ending: TaskEnd): Promise<Task> {
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
