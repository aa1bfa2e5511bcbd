import * as v from 'valibot';
import { FAILURE_TYPES } from '../../failure.ts';
import type { TaskAttempt } from '../../media/queue/task-attempts.ts';
import { nameOfTask } from '../../media/record.ts';
import { toCredits } from '../../store/credits.ts';
import { isTerminal, TASK_STATES, TASK_TYPES, type Task } from '../../store/task.ts';
import { seconds } from './query.ts';

export const timelineShape = v.object({
  object: v.literal('task.timeline'),
  task_id: v.string(),
  status: v.picklist(TASK_STATES),
  model: v.string(),
  type: v.picklist(TASK_TYPES),
  key_id: v.string(),
  created: v.number(),
  started: v.pipe(
    v.nullable(v.number()),
    v.description('when it left the queue for the first time'),
  ),
  ended: v.nullable(v.number()),
  deadline: v.pipe(v.number(), v.description('when it expires if it has not ended')),
  starts: v.pipe(v.number(), v.description('more than one after a restart of the server')),
  attempts: v.pipe(
    v.array(
      v.object({
        at: v.number(),
        error: v.nullable(
          v.object({ type: v.picklist(FAILURE_TYPES), code: v.nullable(v.string()) }),
        ),
      }),
    ),
    v.description(
      'the last ends of requests to providers, where the server has not restarted since',
    ),
  ),
  credits: v.object({ reserved: v.number(), charged: v.number() }),
  callback_url: v.nullable(v.string()),
});

/** When a task went from one state to the next, and what it cost. */
export function timelineOf(
  task: Task,
  attempts: readonly TaskAttempt[],
): v.InferOutput<typeof timelineShape> {
  const { id, status, type, keyId, startedAt, deadline } = task;
  return {
    object: 'task.timeline',
    task_id: id,
    status,
    model: nameOfTask(task),
    type,
    key_id: keyId,
    created: seconds(task.createdAt),
    started: startedAt === undefined ? null : seconds(startedAt),
    ended: isTerminal(status) ? seconds(task.updatedAt) : null,
    deadline: seconds(deadline),
    starts: task.attempts,
    attempts: attempts.map(({ at, error }) => ({ at: seconds(at), error })),
    credits: { reserved: toCredits(task.reserved), charged: toCredits(task.charged) },
    callback_url: task.callbackUrl,
  };
}
