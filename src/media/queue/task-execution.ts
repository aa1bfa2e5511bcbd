import type { Model } from '../../config/settings/schema.ts';
import type { Failure } from '../../failure.ts';
import type { RouteCandidate } from '../../routing/route-candidates.ts';
import type { Task } from '../../store/task.ts';
import type { CallCheckpoint } from './call-checkpoint.ts';
import type { Slot } from './provider-queues.ts';

export type MediaRouteCandidate = RouteCandidate<Model['routes'][number]>;

/** The work on one task. */
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
