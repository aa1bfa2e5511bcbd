import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { field } from '../schema.ts';
import { TASK_STATES, TASK_TYPES, type Task } from '../store/task.ts';
import type { Gateway } from './gateway.ts';
import { pageLimit, pageOf } from './query.ts';

/** The task record of interface part 2.4. */
const taskShape = v.object({
  task_id: v.string(),
  status: v.picklist(TASK_STATES),
  model: v.string(),
  type: v.picklist(TASK_TYPES),
  result: v.nullable(v.record(v.string(), v.unknown())),
  error: v.nullable(
    v.object({ type: v.string(), message: v.string(), code: v.nullable(v.string()) }),
  ),
});

function taskOf(task: Task): v.InferOutput<typeof taskShape> {
  return {
    task_id: task.id,
    status: task.status,
    model: task.model,
    type: task.type,
    result: task.result as Record<string, unknown> | null,
    error: task.error,
  };
}

const listQuery = v.strictObject({
  status: v.optional(field(v.picklist(TASK_STATES), 'only tasks in this state')),
  type: v.optional(field(v.picklist(TASK_TYPES), 'only tasks of this type')),
  limit: pageLimit,
  after: v.optional(field(v.string(), 'the task_id of the last element of the page before')),
});

/** Looking tasks up: only the caller's own exist for it. */
export function taskRoutes(gateway: Gateway): FastifyPluginAsync {
  return async (server) => {
    server.get<{ Params: { task_id: string } }>('/v1/tasks/:task_id', {
      schema: {
        summary: 'A task: its state, and its result or its error',
        tags: ['Tasks'],
        response: { 200: taskShape },
      },
      handler: async ({ holder, params }) => {
        const task = await gateway.store.findTask(holder.account.id, params.task_id);
        if (task) return taskOf(task);
        throw new Failure('invalid_request', 'there is no such task', {
          code: 'task_not_found',
          param: 'task_id',
          status: 404,
        });
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
        return pageOf(await gateway.store.listTasks(filter, page), limit, taskOf);
      },
    });
  };
}
