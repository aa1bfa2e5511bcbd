import type { Model } from '../../config/settings/schema.ts';
import type { Failure } from '../../failure.ts';
import type { RouteCandidate } from '../../routing/route-candidates.ts';
import type { Completion, Task } from '../../store/task.ts';
import type { CallCheckpoint } from './call-checkpoint.ts';
import type { Slot } from './provider-queues.ts';

export type MediaRoute = Model['routes'][number];
export type MediaRouteCandidate = RouteCandidate<MediaRoute>;

/** Does the work of one task. */
export interface TaskExecutor {
  /**
   * @param execution its slot is at the provider of a candidate
   * @throws Failure that ends the task; the reason of the execution's signal once that is aborted
   */
  execute(execution: TaskExecution): Promise<Completion>;
}

export interface TaskExecution {
  readonly task: Task;
  readonly signal: AbortSignal;
  /** Time of `performance.now()`. */
  readonly deadline: number;
  readonly candidates: readonly MediaRouteCandidate[];
  readonly slot: Slot;
  /** The last saved checkpoint, by this process or an earlier one. */
  readonly checkpoint: CallCheckpoint | null;
  /** Resolves once the checkpoint is on disk. */
  saveCheckpoint(checkpoint: CallCheckpoint): Promise<void>;
  /**
   * Reports that a storage failure delays the task; null once it no longer does.
   *
   * @param paid whether there is output already, which must not be lost
   */
  onStall(failure: Failure | null, paid: boolean): void;
}

export interface TaskObserver {
  ended(task: Task): void;
  /** Called for a task in a new state that is not its last. */
  changed?(task: Task): void;
  /** Called with an error that is no Failure: a defect of Oriel. */
  fault(error: unknown, task: Task): void;
  /** Called when a storage failure delays a task; the failed operation is retried. */
  stalled(failure: Failure, task: Task): void;
  /** Called for a task that another node has taken over while this one worked on it. */
  claimLost(task: Task): void;
  /** Called for a task of which a provider may have charged a call that a crash interrupted. */
  callInterrupted(task: Task, afterCrash: 'retry' | 'fail'): void;
}
