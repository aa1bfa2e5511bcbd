import type { Asset } from '../asset.ts';
import { charge, checkAmount, release, reserve } from '../funds.ts';
import { newId } from '../identifier.ts';
import { conflict, missing } from '../refusal.ts';
import type { Completion, NewTask } from '../store.ts';
import {
  advance,
  checkOpenTasks,
  isTerminal,
  noted,
  TASK_STATES,
  type Task,
  type TaskError,
} from '../task.ts';
import type { Records } from './records.ts';
import { keyOfSum } from './state.ts';
import type { Transaction } from './transaction.ts';

/** About how many deletions go into one transaction. */
const DELETIONS = 10_000;

/** What ends a task: its last state, what of its reservation is spent, and what it leaves. */
interface Ending extends Partial<Pick<Completion, 'result' | 'counts' | 'assets'>> {
  readonly status: 'completed' | 'failed' | 'expired';
  readonly error?: TaskError;
  readonly charge: number;
}

type Idempotency = NonNullable<Task['idempotency']>;

/** The verbs that change tasks, with the assets and the delivery that belong to each. */
export class Tasks {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async create(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    const { state, now } = this.#records;
    const before = this.#records.holder(task);
    const { idempotency } = task;
    // Not asked for where there can be none: what follows happens in one turn with what it found.
    if (idempotency && this.#orderOf(task.accountId, idempotency) !== undefined) {
      const same = await this.repeat(task.accountId, idempotency);
      return { task: same!, created: false };
    }
    checkOpenTasks(state.openTasks.of(task.accountId), task.most);
    const holder = reserve(before, task.reservation, this.#records.held(before));
    const at = now();
    const created: Task = {
      id: newId('task'),
      accountId: task.accountId,
      keyId: task.keyId,
      type: task.type,
      model: task.model,
      status: 'pending',
      request: task.request,
      result: null,
      error: null,
      reserved: task.reservation,
      charged: 0,
      attempts: 0,
      createdAt: at,
      updatedAt: at,
      deadline: task.deadline,
      callbackUrl: task.callbackUrl,
      progress: null,
      idempotency,
    };
    const transaction = this.#records.begin();
    transaction.changes.push(['tasks', state.tasks.newOrder(), created]);
    for (const asset of task.assets) transaction.asset(task.accountId, created.id, asset);
    transaction.holder(holder);
    transaction.taskEntry(holder, 'reserve', task.reservation, created);
    await this.#records.commit(transaction);
    return { task: created, created: true };
  }

  async repeat(accountId: string, idempotency: Idempotency): Promise<Task | undefined> {
    const { state, commits } = this.#records;
    const order = this.#orderOf(accountId, idempotency);
    if (order === undefined) return undefined;
    const same = state.tasks.rows.get(order)!;
    if (same.idempotency!.fingerprint !== idempotency.fingerprint) {
      const message = 'this idempotency key came with another request before';
      throw conflict(message, 'idempotency_conflict');
    }
    await commits.settled('tasks', order);
    return same;
  }

  #orderOf(accountId: string, { key }: Idempotency): number | undefined {
    return this.#records.state.taskByIdempotency.order(keyOfSum(accountId, key));
  }

  async claim(id: string): Promise<Task | undefined> {
    const { state, now } = this.#records;
    const task = state.taskById.get(id);
    if (task?.status !== 'pending') return undefined;
    return this.#write(advance(task, 'processing', now(), { attempts: task.attempts + 1 }));
  }

  async reopen(id: string): Promise<Task> {
    return this.#write(advance(this.#task(id), 'pending', this.#records.now()));
  }

  async note(id: string, progress: unknown): Promise<Task> {
    return this.#write(noted(this.#task(id), progress, this.#records.now()));
  }

  async end(id: string, ending: Ending): Promise<Task> {
    checkAmount(ending.charge, 'charge');
    const task = this.#task(id);
    const charged = Math.min(ending.charge, task.reserved);
    const ended = advance(task, ending.status, this.#records.now(), {
      result: ending.result ?? null,
      error: ending.error ?? null,
      reserved: 0,
      charged,
    });
    const paid = charge(this.#records.holder(task), charged);
    const holder = release(paid, task.reserved - charged);
    const transaction = this.#records.begin();
    transaction.task(ended);
    for (const asset of ending.assets ?? []) transaction.asset(task.accountId, id, asset);
    if (ended.callbackUrl !== null) transaction.delivery(ended, ended.callbackUrl);
    if (task.reserved > 0) transaction.holder(holder);
    transaction.taskEntry(paid, 'charge', charged, task);
    transaction.taskEntry(holder, 'release', task.reserved - charged, task);
    if (ending.status === 'completed' || charged > 0) {
      transaction.usage(task.accountId, task.model, ending.counts ?? {}, charged);
    }
    await this.#records.commit(transaction);
    return ended;
  }

  async forget(
    endedBefore: number,
  ): Promise<{ readonly tasks: readonly Task[]; readonly assets: readonly Asset[] }> {
    const tasks: Task[] = [];
    const assets: Asset[] = [];
    for (;;) {
      const transaction = this.#records.begin();
      for (const [order, task] of this.#forgettable(endedBefore)) {
        if (transaction.changes.length >= DELETIONS) break;
        transaction.changes.push(['tasks', order, null]);
        assets.push(...this.#forgetWith(task, transaction));
        tasks.push(task);
      }
      if (transaction.changes.length === 0) return { tasks, assets };
      await this.#records.commit(transaction);
    }
  }

  *#forgettable(endedBefore: number): Generator<[order: number, task: Task]> {
    const { tasksInState, deliveryOfTask } = this.#records.state;
    for (const state of TASK_STATES.filter(isTerminal)) {
      for (const [order, task] of tasksInState.oldest(state)) {
        if (task.updatedAt >= endedBefore) continue;
        if (deliveryOfTask.get(task.id)?.status !== 'pending') yield [order, task];
      }
    }
  }

  /** What goes with a task. Returns its assets. */
  #forgetWith({ id }: Task, transaction: Transaction): Asset[] {
    const { assetsOfTask, deliveryOfTask } = this.#records.state;
    const delivery = deliveryOfTask.order(id);
    if (delivery !== undefined) transaction.changes.push(['deliveries', delivery, null]);
    const assets = [...assetsOfTask.oldest(id)];
    for (const [order] of assets) transaction.changes.push(['assets', order, null]);
    return assets.map(([, asset]) => asset);
  }

  async #write(task: Task): Promise<Task> {
    const transaction = this.#records.begin();
    transaction.task(task);
    await this.#records.commit(transaction);
    return task;
  }

  #task(id: string): Task {
    const task = this.#records.state.taskById.get(id);
    if (!task) throw missing('task', id);
    return task;
  }
}
