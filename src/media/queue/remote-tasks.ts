import type { Store } from '../../store/store.ts';
import { isTerminal, type Task } from '../../store/task.ts';

/** Interval at which tasks are read whose end no event reported, in milliseconds. */
const POLL_INTERVAL_MS = 1000;

type TaskReference = Pick<Task, 'id' | 'accountId'>;

interface Waiting {
  readonly task: TaskReference;
  readonly callbacks: Set<() => void>;
}

/** Reports the ends of tasks that this node does not work on. Events of the store are hints: it polls as well. */
export class RemoteTasks {
  readonly #store: Pick<Store, 'watch' | 'findTask'>;
  readonly #waiting = new Map<string, Waiting>();
  #unwatch = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Pick<Store, 'watch' | 'findTask'>) {
    this.#store = store;
  }

  /** Calls back once the task has ended. Returns a function that unsubscribes. */
  onEnd(task: TaskReference, callback: () => void): () => void {
    if (this.#waiting.size === 0) this.#start();
    const waiting = this.#waiting.get(task.id) ?? { task, callbacks: new Set() };
    this.#waiting.set(task.id, waiting);
    waiting.callbacks.add(callback);
    return () => {
      waiting.callbacks.delete(callback);
      if (waiting.callbacks.size === 0 && this.#waiting.get(task.id) === waiting) {
        this.#forget(task.id);
      }
    };
  }

  #start(): void {
    this.#unwatch = this.#store.watch((event) => {
      if (event.kind === 'task' && isTerminal(event.status)) this.#ended(event.id);
    });
    this.#timer = setInterval(() => this.#poll(), POLL_INTERVAL_MS).unref();
  }

  #poll(): void {
    for (const { task } of this.#waiting.values()) {
      this.#store.findTask(task.accountId, task.id).then(
        (found) => {
          if (found === undefined || isTerminal(found.status)) this.#ended(task.id);
        },
        // The store fails at present: the next interval tries again.
        () => {},
      );
    }
  }

  #ended(id: string): void {
    const { callbacks } = this.#waiting.get(id) ?? {};
    if (!callbacks) return;
    this.#forget(id);
    for (const callback of callbacks) callback();
  }

  #forget(id: string): void {
    this.#waiting.delete(id);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#unwatch();
  }
}
