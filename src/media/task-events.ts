import type { Task } from '../store/task.ts';

type Listener = (task: Task) => void;

/** Reports changes of the state of tasks to the listeners of their accounts. */
export class TaskEvents {
  readonly #listeners = new Map<string, Set<Listener>>();
  #size = 0;

  /** Listeners of all accounts. */
  get size(): number {
    return this.#size;
  }

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
    this.#size += 1;
    return () => {
      if (!listeners.delete(listener)) return;
      this.#size -= 1;
      if (listeners.size === 0) this.#listeners.delete(accountId);
    };
  }

  changed(task: Task): void {
    const listeners = this.#listeners.get(task.accountId);
    if (listeners === undefined) return;
    for (const listener of listeners) listener(task);
  }
}
