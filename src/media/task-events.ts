import type { Store } from '../store/store.ts';
import { isTerminal, type Task } from '../store/task.ts';

type Listener = (task: Task) => void;

/** Reports changes of the state of tasks to the listeners of their accounts. */
export class TaskEvents {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Listeners of an account. */
  sizeOf(accountId: string): number {
    return this.#listeners.get(accountId)?.size ?? 0;
  }

  /** Accounts that have listeners. */
  accounts(): Iterable<string> {
    return this.#listeners.keys();
  }

  /** @returns removes the listener */
  subscribe(accountId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(accountId) ?? new Set();
    this.#listeners.set(accountId, listeners.add(listener));
    return () => {
      if (!listeners.delete(listener)) return;
      if (listeners.size === 0) this.#listeners.delete(accountId);
    };
  }

  changed(task: Task): void {
    const listeners = this.#listeners.get(task.accountId);
    if (listeners === undefined) return;
    for (const listener of listeners) listener(task);
  }
}

/** Interval at which the tasks of accounts with listeners are read, in milliseconds. */
const POLL_INTERVAL_MS = 1000;

/** Tasks of an account that one poll reads: the newest, and as many older ones that have not ended. */
const MAX_READ = 100;

/** Difference of the clocks of two nodes that loses no event, in milliseconds. */
const CLOCK_TOLERANCE_MS = 10_000;

/** What the listeners of an account were sent. */
interface Sent {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Last state of each task: the newest tasks, and those that have not ended. */
  readonly tasks: Map<string, Task>;
}

/**
 * Reports changes by other nodes as well. Events of the store are hints, so that it also polls, for the accounts
 * that have listeners.
 */
export class SharedTaskEvents extends TaskEvents {
  readonly #store: Pick<Store, 'watch' | 'findTask' | 'listTasks' | 'now'>;
  readonly #sent = new Map<string, Sent>();
  readonly #unwatch: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(store: Pick<Store, 'watch' | 'findTask' | 'listTasks' | 'now'>) {
    super();
    this.#store = store;
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL_MS).unref();
    this.#unwatch = store.watch((event) => {
      if (event.kind === 'task' && this.sizeOf(event.accountId) > 0) {
        this.#read(event.accountId, event.id);
      }
    });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }

  override changed(task: Task): void {
    if (this.sizeOf(task.accountId) === 0) return;
    const { tasks } = this.#sentTo(task.accountId);
    const known = tasks.get(task.id);
    const isOld =
      known &&
      (isTerminal(known.status) || known.updatedAt > task.updatedAt || isSame(known, task));
    if (isOld) return;
    tasks.set(task.id, task);
    super.changed(task);
  }

  #sentTo(accountId: string): Sent {
    const sent = this.#sent.get(accountId) ?? {
      since: this.#store.now - CLOCK_TOLERANCE_MS,
      tasks: new Map(),
    };
    this.#sent.set(accountId, sent);
    return sent;
  }

  #poll(): void {
    for (const accountId of this.#sent.keys()) {
      if (this.sizeOf(accountId) === 0) this.#sent.delete(accountId);
    }
    for (const accountId of this.accounts()) {
      // The store fails at present: the next interval tries again.
      this.#pollAccount(accountId).catch(() => {});
    }
  }

  async #pollAccount(accountId: string): Promise<void> {
    const { since, tasks } = this.#sentTo(accountId);
    const newest = await this.#store.listTasks({ accountId }, { limit: MAX_READ });
    const listed = new Set(newest.map(({ id }) => id));
    for (const task of newest.toReversed()) {
      if (tasks.has(task.id) || task.updatedAt >= since) this.changed(task);
      else tasks.set(task.id, task);
    }
    let read = 0;
    for (const { id, status } of [...tasks.values()]) {
      if (listed.has(id)) continue;
      if (isTerminal(status)) tasks.delete(id);
      else if (read < MAX_READ) {
        read += 1;
        this.#read(accountId, id);
      }
    }
  }

  #read(accountId: string, id: string): void {
    this.#store.findTask(accountId, id).then(
      (task) => task && this.changed(task),
      () => {},
    );
  }
}

function isSame(one: Task, other: Task): boolean {
  return one.status === other.status && one.attempts === other.attempts;
}
