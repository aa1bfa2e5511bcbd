import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../../failure.ts';
import { FairSemaphore } from '../../../fair-semaphore.ts';
import { nameOfTask, taskRecord, taskShape } from '../../../media/record.ts';
import { day, optional } from '../../../schema/fields.ts';
import type { Delivery } from '../../../store/delivery.ts';
import { utcDayOf } from '../../../store/ledger.ts';
import type { Store } from '../../../store/store.ts';
import { TASK_STATES, TASK_TYPES, type Task } from '../../../store/task.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { filter, pageLimit, pageShape, seconds } from '../../request/query.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { callbacksShape } from './media-schema.ts';
import { requestOf, requestShape, timelineOf, timelineShape } from './task-timeline.ts';

const listQuery = v.strictObject({
  status: optional(v.picklist(TASK_STATES), 'only tasks in this state'),
  type: optional(v.picklist(TASK_TYPES), 'only tasks of this type'),
  model: filter('only tasks of this model'),
  from: optional(day(), 'only tasks that were created on this day, UTC, or later'),
  to: optional(day(), 'only tasks that were created on this day, UTC, or earlier'),
  include: optional(v.picklist(['request']), 'what else elements have'),
  limit: pageLimit,
  after: optional(v.string(), 'the task_id of the last element of the page before'),
});

/** Searches that read many tasks, of all accounts at once: each takes up to half a second of CPU. */
const SEARCHES = 2;

/** `request` is there if the query includes it. */
const listedShape = v.object({ ...taskShape.entries, request: v.optional(requestShape) });

export type ListedTask = v.InferOutput<typeof listedShape>;

/** The tasks of the API key's account. */
export function taskRoutes(server: FastifyInstance, context: AppContext): void {
  const searches = new FairSemaphore(SEARCHES, { permitsPerClient: 1 });
  addEndpoint(server, {
    path: 'GET /v1/tasks/:task_id',
    tag: 'Tasks',
    summary: 'A task: its state, and its result or its error',
    answer: taskShape,
    handler: async ({ holder, params }) => {
      const task = await context.store.findTask(holder.account.id, params.task_id);
      if (task) return taskRecord(task, context.publicUrl);
      throw notFound();
    },
  });

  addEndpoint(server, {
    path: 'GET /v1/tasks/:task_id/timeline',
    tag: 'Tasks',
    summary: 'When a task was created, started and ended, its attempts and its charge',
    answer: timelineShape,
    handler: async ({ holder, params }) => {
      const task = await context.store.findTask(holder.account.id, params.task_id);
      if (!task) throw notFound();
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
      throw notFound();
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
        ...(query.include && { request: requestOf(task, publicUrl) }),
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
  const message = `after: the last ${MAX_READ} tasks do not meet the conditions; continue after ${last}`;
  throw new Failure('invalid_request', message, { param: 'after' });
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

function notFound(): Failure {
  return new Failure('invalid_request', 'there is no such task', {
    code: 'task_not_found',
    param: 'task_id',
  });
}
