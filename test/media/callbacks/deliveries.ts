import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Account } from '../../../src/store/account.ts';
import {
  type ClaimedDeliveries,
  type Delivery,
  type DeliveryQuery,
  isDue,
} from '../../../src/store/delivery.ts';
import { notFound } from '../../../src/store/errors.ts';
import { SINGLE_NODE } from '../../../src/store/nodes.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Task, TaskState } from '../../../src/store/task.ts';

type Verbs = Pick<
  Store,
  'claimDeliveries' | 'recordAttempt' | 'findTask' | 'findAccount' | 'watch'
>;

/** What of a store callbacks work with, in memory. */
export class Deliveries implements Verbs {
  readonly tasks = new Map<string, Task>();
  readonly accounts = new Map<string, Account>();
  readonly deliveries = new Map<string, Delivery>();
  /** Thrown by whatever is asked next, one by one. */
  readonly faults: unknown[] = [];
  readonly nodes = SINGLE_NODE;
  /** Milliseconds since the epoch. */
  clock: () => number = Date.now;
  get now(): number {
    return this.clock();
  }
  #count = 0;
  readonly #claimed = new Set<string>();
  readonly #records = new EventEmitter().setMaxListeners(0);

  /** Adds an account where there is none of that name, a task that ended, and its delivery. */
  add(url: string, { accountId = 'acct_1', status = 'completed' as TaskState } = {}): Task {
    const callbackSecret = `whsec_${randomBytes(32).toString('base64')}`;
    if (!this.accounts.has(accountId)) {
      this.accounts.set(accountId, { id: accountId, callbackSecret } as Account);
    }
    this.#count += 1;
    const id = `task_${this.#count}`;
    const task = { id, accountId, status, callbackUrl: url } as Task;
    this.tasks.set(id, task);
    const delivery: Delivery = {
      id: `msg_${this.#count}`,
      accountId,
      taskId: id,
      url,
      status: 'pending',
      attempts: [],
      nextAt: ENDED,
      createdAt: ENDED,
    };
    this.deliveries.set(delivery.id, delivery);
    return task;
  }

  secretOf(accountId = 'acct_1'): string {
    return this.accounts.get(accountId)!.callbackSecret;
  }

  of({ id }: Task): Delivery {
    return [...this.deliveries.values()].find(({ taskId }) => taskId === id)!;
  }

  /** Waits for a delivery to be as it should. */
  async until(task: Task, is: (delivery: Delivery) => boolean): Promise<Delivery> {
    while (!is(this.of(task))) await once(this.#records, 'record');
    return this.of(task);
  }

  ended(task: Task): Promise<Delivery> {
    return this.until(task, ({ status }) => status !== 'pending');
  }

  async claimDeliveries({ limit, exceptAccounts }: DeliveryQuery): Promise<ClaimedDeliveries> {
    this.#fail();
    const now = this.now;
    const free = [...this.deliveries.values()].filter(
      ({ id, accountId, nextAt }) =>
        nextAt !== null && !this.#claimed.has(id) && !exceptAccounts?.includes(accountId),
    );
    const deliveries = free.filter((delivery) => isDue(delivery, now)).slice(0, limit);
    for (const { id } of deliveries) this.#claimed.add(id);
    const later = free.flatMap(({ id, nextAt }) => (this.#claimed.has(id) ? [] : [nextAt!]));
    return { deliveries, nextAt: later.length === 0 ? null : Math.min(...later) };
  }

  watch(): () => void {
    return () => {};
  }

  /** Gives back all claims, as the end of a process does. */
  dropClaims(): void {
    this.#claimed.clear();
  }

  recordAttempt: Store['recordAttempt'] = async ({ id }, attempt, outcome) => {
    this.#fail();
    const delivery = this.deliveries.get(id);
    if (delivery === undefined) throw notFound('delivery', id);
    this.#claimed.delete(id);
    const recorded: Delivery = {
      ...delivery,
      status: outcome.status,
      nextAt: outcome.status === 'pending' ? outcome.nextAt : null,
      attempts: [...delivery.attempts, attempt],
    };
    this.deliveries.set(id, recorded);
    this.#records.emit('record');
    return recorded;
  };

  async findTask(accountId: string, taskId: string): Promise<Task | undefined> {
    this.#fail();
    const task = this.tasks.get(taskId);
    return task?.accountId === accountId ? task : undefined;
  }

  async findAccount(accountId: string): Promise<Account | undefined> {
    this.#fail();
    return this.accounts.get(accountId);
  }

  #fail(): void {
    if (this.faults.length > 0) throw this.faults.shift();
  }
}

/** When every task ended. */
export const ENDED = Date.UTC(2026, 10, 21, 12);
