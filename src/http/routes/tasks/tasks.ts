import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { codedFailure, FAILURE_TYPES, type Failure } from '../../../failure.ts';
import { FairSemaphore } from '../../../fair-semaphore.ts';
import type { TaskAttempt } from '../../../media/queue/task-attempts.ts';
import { assetUrl, nameOfTask, taskRecord, taskShape } from '../../../media/record.ts';
import type { InputReference, TaskRequest } from '../../../media/task/task-request.ts';
import { day, field, optional } from '../../../schema/fields.ts';
import { invalid } from '../../../schema/invalid.ts';
import { toCredits } from '../../../store/credits.ts';
import type { Delivery } from '../../../store/delivery.ts';
import { utcDayOf } from '../../../store/ledger.ts';
import type { Store } from '../../../store/store.ts';
import { isTerminal, TASK_STATES, TASK_TYPES, type Task } from '../../../store/task.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { filter, pageLimit, pageShape, seconds } from '../../request/query.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { callbacksShape } from './media-schema.ts';

const listQuery = v.strictObject({
  status: optional(v.picklist(TASK_STATES), 'only tasks in this state'),
  type: optional(v.picklist(TASK_TYPES), 'only tasks of this type'),
  model: filter('only tasks of this model'),
  from: optional(day(), 'only tasks that were created on this day, UTC, or later'),
  to: optional(day(), 'only tasks that were created on this day, UTC, or earlier'),
  include: optional(v.picklist(['request']), 'the request, times and charge of each too'),
  limit: pageLimit,
  after: optional(v.string(), 'the task_id of the last element of the page before'),
});

/** Searches that read many tasks, of all accounts at once: each takes up to half a second of CPU. */
const SEARCHES = 2;

/** What was asked for. */
const requestShape = field(
  v.record(v.string(), v.unknown()),
  'what was asked for, in the fields of the endpoint, with inputs and mask as URLs',
);

const timelineShape = v.object({
  object: v.literal('task.timeline'),
  task_id: v.string(),
  status: v.picklist(TASK_STATES),
  model: v.string(),
  type: v.picklist(TASK_TYPES),
  key_id: v.string(),
  created: v.number(),
  started: field(v.nullable(v.number()), 'when it left the queue for the first time'),
  ended: v.nullable(v.number()),
  deadline: field(v.number(), 'when it expires if it has not ended'),
  starts: field(v.number(), 'more than one after a restart of the server'),
  attempts: field(
    v.array(
      v.object({
        at: v.number(),
        error: v.nullable(
          v.object({ type: v.picklist(FAILURE_TYPES), code: v.nullable(v.string()) }),
        ),
      }),
    ),
    'the last ends of requests to providers, where the server has not restarted since',
  ),
  credits: v.object({ reserved: v.number(), charged: v.number() }),
  callback_url: v.nullable(v.string()),
  request: requestShape,
});

export type Timeline = v.InferOutput<typeof timelineShape>;

/** What is optional is there if the query includes the request. */
const listedShape = v.object({
  ...taskShape.entries,
  created: v.optional(v.number()),
  started: v.optional(v.nullable(v.number())),
  ended: v.optional(v.nullable(v.number())),
  credits: v.optional(v.number()),
  request: v.optional(requestShape),
});

export type ListedTask = v.InferOutput<typeof listedShape>;

/** The tasks of the API key's account. */
export function taskRoutes(server: FastifyInstance, context: AppContext): void {
  const searches = new FairSemaphore(SEARCHES, { permitsPerClient: 1 });
  const found = async ({ holder, params }: FastifyRequest<{ Params: { task_id: string } }>) => {
    const task = await context.store.findTask(holder.account.id, params.task_id);
    if (task) return task;
    throw taskNotFound();
  };
  addEndpoint(server, {
    path: 'GET /v1/tasks/:task_id',
    tag: 'Tasks',
    summary: 'A task: its state, and its result or its error',
    answer: taskShape,
    handler: async (request) => taskRecord(await found(request), context.publicUrl),
  });

  addEndpoint(server, {
    path: 'GET /v1/tasks/:task_id/timeline',
    tag: 'Tasks',
    summary: 'When a task was created, started and ended, its attempts and its charge',
    answer: timelineShape,
    handler: async (request) => {
      const task = await found(request);
      return timelineOf(task, context.taskAttempts.of(task.id), context.publicUrl);
    },
  });

  addEndpoint(server, {
    path: 'GET /v1/tasks/:task_id/callbacks',
    tag: 'Tasks',
    summary: 'The callbacks of a task, with their delivery attempts',
    answer: callbacksShape,
    handler: async ({ holder, params }) => {
      const deliveries = await context.store.listDeliveries(holder.account.id, params.task_id);
      if (deliveries) return { object: 'list' as const, data: deliveries.map(callbackOf) };
      throw taskNotFound();
    },
  });

  addEndpoint(server, {
    path: 'GET /v1/tasks',
    tag: 'Tasks',
    summary: "The caller's tasks, newest first",
    query: listQuery,
    answer: pageShape(listedShape),
    handler: async ({ holder, query }, reply) => {
      const { id } = holder.account;
      const release = isSearch(query)
        ? await searches.acquire(id, disconnectSignal(reply))
        : () => {};
      const { tasks, hasMore } = await findTasks(context.store, id, query).finally(release);
      const { publicUrl } = context;
      const data = tasks.map((task) => ({
        ...taskRecord(task, publicUrl),
        ...(query.include && {
          ...timesOf(task),
          credits: toCredits(task.charged),
          request: requestOf(task, publicUrl),
        }),
      }));
      return { object: 'list' as const, data, has_more: hasMore };
    },
  });
}

type ListQuery = v.InferOutput<typeof listQuery>;

/** Tasks that the store reads at once for the conditions that it does not know. */
const SLICE = 200;

/** Tasks that one request reads. */
const MAX_READ = 5000;

/** Whether a query has conditions that the store does not know. */
function isSearch({ model, from, to }: ListQuery): boolean {
  return model !== undefined || from !== undefined || to !== undefined;
}

/** A page of the tasks that meet the conditions. */
async function findTasks(
  store: Store,
  accountId: string,
  query: ListQuery,
): Promise<{ readonly tasks: readonly Task[]; readonly hasMore: boolean }> {
  const { limit, after, status, type, model, from, to } = query;
  const filter = { accountId, ...(status && { status }), ...(type && { type }) };
  const size = isSearch(query) ? Math.max(SLICE, limit + 1) : limit + 1;
  const found: Task[] = [];
  let last = after;
  for (let read = 0; read < MAX_READ; read += size) {
    const page = { limit: size, ...(last !== undefined && { after: last }) };
    const tasks = await store.listTasks(filter, page);
    for (const task of tasks) {
      const created = utcDayOf(task.createdAt);
      if (from !== undefined && created < from) return { tasks: found, hasMore: false };
      const isNamed = model === undefined || nameOfTask(task) === model;
      if (isNamed && (to === undefined || created <= to)) found.push(task);
      if (found.length > limit) return { tasks: found.slice(0, limit), hasMore: true };
    }
    if (tasks.length < size) return { tasks: found, hasMore: false };
    last = tasks.at(-1)!.id;
  }
  if (found.length > 0) return { tasks: found, hasMore: true };
  const message = `the last ${MAX_READ} tasks do not meet the conditions; continue after ${last}`;
  throw invalid('after', message);
}

function callbackOf({ id, url, status, attempts, nextAt }: Delivery) {
  return {
    id,
    url,
    status,
    attempts: attempts.map(({ at, ...attempt }) => ({ at: seconds(at), ...attempt })),
    next_attempt_at: nextAt === null ? null : seconds(nextAt),
  };
}

export function taskNotFound(param = 'task_id'): Failure {
  return codedFailure('task_not_found', 'there is no such task', { param });
}

function timesOf({ createdAt, startedAt, updatedAt, status }: Task) {
  return {
    created: seconds(createdAt),
    started: startedAt === undefined ? null : seconds(startedAt),
    ended: isTerminal(status) ? seconds(updatedAt) : null,
  };
}

/** When a task went from one state to the next, and what it cost. */
function timelineOf(task: Task, attempts: readonly TaskAttempt[], publicUrl: string): Timeline {
  const { id, status, type, keyId, deadline } = task;
  return {
    object: 'task.timeline',
    task_id: id,
    status,
    model: nameOfTask(task),
    type,
    key_id: keyId,
    ...timesOf(task),
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
function requestOf(task: Task, publicUrl: string): Record<string, unknown> {
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
