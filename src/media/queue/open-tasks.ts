import { setMaxListeners } from 'node:events';
import type { Task } from '../../store/task.ts';
import { ClaimLost, OpenTask, TaskInterrupted } from './open-task.ts';

/** The tasks that this node works on, or that wait here for a slot, and the shutdown that stops them. */
export class OpenTasks {
  readonly #tasks = new Map<string, OpenTask>();
  readonly #draining = new AbortController();
  readonly #graceOver = new AbortController();

  constructor() {
    // Every waiting client and every retry of a store operation listens.
    setMaxListeners(0, this.draining, this.graceOver);
  }

  /** Aborted when the daemon begins to drain. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Aborted when the grace period of a shutdown ends. */
  get graceOver(): AbortSignal {
    return this.#graceOver.signal;
  }

  get size(): number {
    return this.#tasks.size;
  }

  /** Number of tasks that wait here, which other nodes may claim as well. */
  get waiting(): number {
    let count = 0;
    for (const { task } of this.#tasks.values()) if (task.status === 'pending') count += 1;
    return count;
  }

  get(id: string): OpenTask | undefined {
    return this.#tasks.get(id);
  }

  /** @param now milliseconds since the epoch, by the clock of the store */
  add(task: Task, now: number): OpenTask {
    const open = new OpenTask(task, now);
    this.#tasks.set(task.id, open);
    return open;
  }

  remove(open: OpenTask): void {
    this.#tasks.delete(open.task.id);
    open.done();
  }

  /** Interrupts the tasks that the next process can resume as well. */
  drain(): void {
    this.#draining.abort();
    for (const open of this.#tasks.values()) this.stopIfPossible(open);
  }

  /** Interrupts all tasks. */
  interrupt(): void {
    const reason = new TaskInterrupted();
    for (const { controller } of this.#tasks.values()) controller.abort(reason);
    this.#graceOver.abort(reason);
  }

  /** Stops work on the tasks that other nodes take over. */
  loseClaims(): void {
    const reason = new ClaimLost();
    for (const { task, controller } of this.#tasks.values()) {
      if (task.status === 'processing') controller.abort(reason);
    }
  }

  /** While the daemon drains, interrupts a task that the next process can resume as well. */
  stopIfPossible(open: OpenTask): void {
    if (this.draining.aborted && open.canStop) open.controller.abort(new TaskInterrupted());
  }
}
