import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { taskRecord, taskShape } from '../../media/record.ts';
import { field } from '../../schema/fields.ts';
import type { Delivery } from '../../store/delivery.ts';
import { TASK_STATES, TASK_TYPES } from '../../store/task.ts';
import type { AppContext } from '../app-context.ts';
import { callbacksShape } from './media-schema.ts';
import { pageLimit, pageOf, seconds } from './query.ts';

const listQuery = v.strictObject({
  status: v.optional(field(v.picklist(TASK_STATES), 'only tasks in this state')),
  type: v.optional(field(v.picklist(TASK_TYPES), 'only tasks of this type')),
  limit: pageLimit,
  after: v.optional(field(v.string(), 'the task_id of the last element of the page before')),
});

/** The tasks of the API key's account. */
export function taskRoutes(context: AppContext): FastifyPluginAsync {
  return async (server) => {
    server.get<{ Params: { task_id: string } }>('/v1/tasks/:task_id', {
      schema: {
        summary: 'A task: its state, and its result or its error',
        tags: ['Tasks'],
        response: { 200: taskShape },
      },
      handler: async ({ holder, params }) => {
        const task = await context.store.findTask(holder.account.id, params.task_id);
        if (task) return taskRecord(task, context.publicUrl);
        throw notFound();
      },
    });

    server.get<{ Params: { task_id: string } }>('/v1/tasks/:task_id/callbacks', {
      schema: {
        summary: 'The callbacks of a task, with their delivery attempts',
        tags: ['Tasks'],
        response: { 200: callbacksShape },
      },
      handler: async ({ holder, params }) => {
        const deliveries = await context.store.listDeliveries(holder.account.id, params.task_id);
        if (deliveries) return { object: 'list', data: deliveries.map(callbackOf) };
        throw notFound();
      },
    });

    server.get<{ Querystring: v.InferOutput<typeof listQuery> }>('/v1/tasks', {
      schema: {
        summary: "The caller's tasks, newest first",
        tags: ['Tasks'],
        querystring: listQuery,
        response: {
          200: v.object({
            object: v.literal('list'),
            data: v.array(taskShape),
            has_more: v.boolean(),
          }),
        },
      },
      handler: async ({ holder, query }) => {
        const { limit, after, status, type } = query;
        const filter = {
          accountId: holder.account.id,
          ...(status && { status }),
          ...(type && { type }),
        };
        const page = { limit: limit + 1, ...(after !== undefined && { after }) };
        const tasks = await context.store.listTasks(filter, page);
        return pageOf(tasks, limit, (task) => taskRecord(task, context.publicUrl));
      },
    });
  };
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
