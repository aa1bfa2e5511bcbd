import type { Failure } from '../../failure.ts';
import type { Task } from '../../store/task.ts';
import { LightAbortSignal } from '../../upstream/abort-signal.ts';
import { noteOf } from './call-note.ts';
import { Expired } from './endings.ts';

/** The longest that a timer can be set for, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** A task that has not ended, while this process answers for it. */
export class OpenTask {
  /** As it was last on disk. */
  task: Task;
  /** Aborted when the task is to be let go of; the reason tells what becomes of it. */
  readonly signal = new LightAbortSignal();
  /** Our own disk holds it up. `paid` where there are results that must not be lost. */
  stalled: { readonly failure: Failure; readonly paid: boolean } | null = null;
  /** On the clock of `performance`. */
  readonly deadline: number;
  readonly #waiters = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds since 1970 */
  constructor(task: Task, now: number) {
    this.task = task;
    // A clock that was set back gives nobody more time than the whole.
    const left = Math.min(task.deadline - now, task.deadline - task.createdAt);
    this.deadline = performance.now() + left;
    this.#expireIn(left);
  }

  /** Whether the next process can go on with it without asking a provider for the same again. */
  get isFreeToStop(): boolean {
    if (this.stalled !== null) return !this.stalled.paid;
    return this.task.status === 'pending' || (noteOf(this.task)?.progress ?? null) !== null;
  }

  /** Calls back once, when this process is done with it. The returned function takes that back. */
  onDone(callback: () => void): () => void {
    this.#waiters.add(callback);
    return () => this.#waiters.delete(callback);
  }

  done(): void {
    clearTimeout(this.#timer);
    for (const callback of this.#waiters) callback();
    this.#waiters.clear();
  }

  /** By the timers' own clock, which nobody sets. */
  #expireIn(milliseconds: number): void {
    if (milliseconds <= 0) {
      this.signal.abort(new Expired());
      return;
    }
    const step = Math.min(milliseconds, LONGEST);
    this.#timer = setTimeout(() => this.#expireIn(milliseconds - step), step);
    this.#timer.unref();
  }
}
