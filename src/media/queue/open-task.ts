import { setMaxListeners } from 'node:events';
import { Failure } from '../../failure.ts';
import type { Task } from '../../store/task.ts';
import { checkpointOf } from './call-checkpoint.ts';

/** The longest delay of a Node timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A task that has not ended, while this process works on it. */
export class OpenTask {
  /** The task as last written to disk. */
  task: Task;
  /** Whether an executor works on the task. Otherwise it is only claimed or queued here. */
  isExecuting = false;
  /** Aborts the work on the task; the reason decides how the task ends. */
  readonly controller = new AbortController();
  /** A storage failure that delays the task. `paid` where there is output that must not be lost. */
  stall: { readonly failure: Failure; readonly paid: boolean } | null = null;
  /** Time of `performance.now()`. */
  readonly deadline: number;
  readonly #doneCallbacks = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds since the epoch, by the clock of the store */
  constructor(task: Task, now: number) {
    this.task = task;
    // Each download of a task listens; ten images exceed Node's limit of ten listeners.
    setMaxListeners(0, this.signal);
    // Setting the clock back must not extend the total time.
    const remaining = Math.min(task.deadline - now, task.deadline - task.createdAt);
    this.deadline = performance.now() + remaining;
    this.#expireIn(remaining);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the next process can resume the task without a second charge by the provider. */
  get canStop(): boolean {
    if (this.stall !== null) return !this.stall.paid;
    return !this.isExecuting || (checkpointOf(this.task)?.jobState ?? null) !== null;
  }

  /** Calls back once, when this process is done with the task. Returns a function that unsubscribes. */
  onDone(callback: () => void): () => void {
    this.#doneCallbacks.add(callback);
    return () => this.#doneCallbacks.delete(callback);
  }

  done(): void {
    clearTimeout(this.#timer);
    for (const callback of this.#doneCallbacks) callback();
    this.#doneCallbacks.clear();
  }

  /** On timers, which changes of the wall clock do not affect. */
  #expireIn(milliseconds: number): void {
    if (milliseconds <= 0) {
      this.controller.abort(new TaskExpired());
      return;
    }
    const step = Math.min(milliseconds, MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#expireIn(milliseconds - step), step);
    this.#timer.unref();
  }
}

/** Reason for aborting a task whose deadline has passed. */
export class TaskExpired extends Failure {
  constructor() {
    super('timeout', 'the task did not end before its deadline', { code: 'task_expired' });
  }
}

/** Reason for aborting a task that another node has taken over, or may take over: this one must not end it. */
export class ClaimLost extends Failure {
  constructor() {
    super('service_error', 'the lease of this server has ended', { code: 'claim_lost' });
  }
}

/** Whether another node has taken over a task, and may have ended it. */
export function isClaimLost(error: unknown): boolean {
  return error instanceof Failure && (error.code === 'claim_lost' || error.code === 'task_state');
}

/** Reason for aborting a task that another process resumes: the daemon shuts down, or lacks the task's model. */
export class TaskInterrupted extends Failure {
  constructor() {
    super('service_error', 'the server is shutting down', { code: 'shutting_down' });
  }
}
