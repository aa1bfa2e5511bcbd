import * as v from 'valibot';
import { FAILURE_TYPES } from '../../../failure.ts';
import type { TaskAttempt } from '../../../media/queue/task-attempts.ts';
import { assetUrl, nameOfTask } from '../../../media/record.ts';
import type { InputReference, TaskRequest } from '../../../media/task/task-request.ts';
import { toCredits } from '../../../store/credits.ts';
import { isTerminal, TASK_STATES, TASK_TYPES, type Task } from '../../../store/task.ts';
import { seconds } from '../../request/query.ts';

/** What was asked for. */
export const requestShape = v.pipe(
  v.record(v.string(), v.unknown()),
  v.description('what was asked for, in the fields of the endpoint, with inputs and mask as URLs'),
);

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
  request: requestShape,
});

export type Timeline = v.InferOutput<typeof timelineShape>;

/** When a task went from one state to the next, and what it cost. */
export function timelineOf(
  task: Task,
  attempts: readonly TaskAttempt[],
  publicUrl: string,
): Timeline {
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
    request: requestOf(task, publicUrl),
  };
}

/** Fields of the record that requests do not have, or have by another name. */
const OWN_FIELDS = new Set(['type', 'native', 'inputs', 'options', 'wildcardPart']);

/** What the client asked for, without fields that it left out. */
export function requestOf(task: Task, publicUrl: string): Record<string, unknown> {
  const request = task.request as TaskRequest;
  const urlOf = (input: InputReference) =>
    'url' in input ? input.url : assetUrl(publicUrl, input.asset);
  const inputs = request.type === 'audio' ? [] : request.inputs;
  const fields = {
    ...request,
    ...(request.type === 'image' && {
      ...request.options,
      mask: request.mask && urlOf(request.mask),
    }),
    input_images: inputs.length === 0 ? null : inputs.map(urlOf),
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && !OWN_FIELDS.has(name)),
  );
}
