import type { Failure, FailureType } from '../../failure.ts';

/** One attempt to have a provider do a task. */
export interface TaskAttempt {
  /** Time of its end, in milliseconds since the epoch. */
  readonly at: number;
  /** Null for a success. */
  readonly error: { readonly type: FailureType; readonly code: string | null } | null;
}

const MAX_TASKS = 2000;
const MAX_ATTEMPTS = 20;

/** The last attempts of recent tasks, in memory. */
export class TaskAttempts {
  /** By task, in the order of their first attempts. */
  readonly #tasks = new Map<string, TaskAttempt[]>();

  add(task: string, failure: Failure | null): void {
    const attempts = this.#tasks.get(task) ?? [];
    const error = failure && { type: failure.type, code: failure.code };
    attempts.push({ at: Date.now(), error });
    if (attempts.length > MAX_ATTEMPTS) attempts.shift();
    this.#tasks.set(task, attempts);
    if (this.#tasks.size > MAX_TASKS) this.#tasks.delete(this.#tasks.keys().next().value!);
  }

  /** Oldest first; none for a task from before the start. */
  of(task: string): readonly TaskAttempt[] {
    return this.#tasks.get(task) ?? [];
  }
}
