import type { FastifyInstance, FastifyRequest } from 'fastify';
import { taskRecord } from '../../../media/record.ts';
import { isTerminal, type Task } from '../../../store/task.ts';
import { EVENT_STREAM } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { type EventSource, type SendFrames, streamEvents } from '../../request/event-stream.ts';

/** Tasks that a stream begins with, of each state. */
const SNAPSHOT = 100;

/** Changes of the tasks of the key's account, as server-sent events. */
export function taskEventRoutes(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/tasks/events',
    tag: 'Tasks',
    summary: "Changes of the caller's tasks, live, as server-sent events",
    description:
      'Begins with an event `open` and the tasks that have not ended, 100 of each state at most; with the header ' +
      'Last-Event-ID also those that changed since. If `complete` of `open` is false, read the list instead. ' +
      'Each event `task` has the task as `GET /v1/tasks/{task_id}` returns it. Ends when the server drains.',
    answer: { description: 'The events', content: EVENT_STREAM },
    // Its answer would never end and take a place.
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      await streamEvents(context, request, reply, taskStream(context, request));
      return reply;
    },
  });
}

/** The events of one connection. */
function taskStream(context: AppContext, { holder, headers }: FastifyRequest): EventSource {
  const { store, taskEvents, publicUrl } = context;
  const accountId = holder.account.id;
  /** Events that wait for the snapshot; null once it is sent. */
  let waiting: Task[] | null = [];
  /** A client resumes by Last-Event-ID. */
  const sendTask = (send: SendFrames, task: Task) => {
    const data = JSON.stringify(taskRecord(task, publicUrl));
    send(`id: ${task.updatedAt}\nevent: task\ndata: ${data}\n\n`);
  };
  return {
    subscribe: (send) =>
      taskEvents.subscribe(accountId, (task) => {
        if (waiting === null) sendTask(send, task);
        else waiting.push(task);
      }),
    /** Sends the state at the beginning, then what changed while it was read. */
    async begin(send) {
      const since = Number(headers['last-event-id'] ?? Number.NaN);
      const page = { limit: SNAPSHOT };
      const lists = await Promise.all([
        store.listTasks({ accountId, status: 'pending' }, page),
        store.listTasks({ accountId, status: 'processing' }, page),
        Number.isNaN(since) ? [] : store.listTasks({ accountId }, page),
      ]);
      const [pending, processing, newest] = lists;
      const complete = lists.every(({ length }) => length < SNAPSHOT);
      const changed = newest.filter(({ updatedAt }) => updatedAt >= since);
      const tasks = new Map(
        [...changed.reverse(), ...processing, ...pending].map((task) => [task.id, task]),
      );
      send(`event: open\ndata: ${JSON.stringify({ type: 'open', complete })}\n\n`);
      for (const task of tasks.values()) sendTask(send, task);
      for (const task of waiting!) {
        const sent = tasks.get(task.id);
        const isOld = sent && (isTerminal(sent.status) || sent.updatedAt > task.updatedAt);
        if (!isOld) sendTask(send, task);
      }
      waiting = null;
    },
  };
}
