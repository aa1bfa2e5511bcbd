import type { ErrorCode } from '../../error-codes.ts';
import { codedFailure, Failure } from '../../failure.ts';
import type { Task, TaskError } from '../../store/task.ts';
import { mayHaveBeenCharged } from './call-checkpoint.ts';

/** How often a task is started if the process dies each time before the task ends. */
const MAX_STARTS = 10;

const ABANDONED = codedFailure(
  'task_abandoned',
  `the server stopped ${MAX_STARTS} times while it worked on the task`,
);

const INTERRUPTED_CALL = codedFailure(
  'interrupted_call',
  'the server stopped while the provider was asked, which may have charged for it',
);

/**
 * Failure that ends a claimed task before it is started again; null for none.
 *
 * @param isOrphan whether the node that processed it has died
 * @param afterCrash the setting for tasks whose lost output a provider may have charged for
 */
export function failureAtStart(
  task: Task,
  isOrphan: boolean,
  afterCrash: 'retry' | 'fail',
): Failure | null {
  if (afterCrash === 'fail' && mayHaveBeenCharged(task)) return INTERRUPTED_CALL;
  return isOrphan && task.attempts > MAX_STARTS ? ABANDONED : null;
}

/** The error that a failed task shows. */
export function taskErrorOf(error: unknown): TaskError {
  if (error instanceof Failure) {
    const { type, message, code, param } = error;
    return { type, message, code, ...(param != null && { param }) };
  }
  const message = 'something went wrong inside the server; it was logged';
  return { type: 'unknown', message, code: 'internal_error' satisfies ErrorCode };
}
