import { setMaxListeners } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../../failure.ts';
import { taskRecord } from '../../../media/record.ts';
import { isTerminal, type Task } from '../../../store/task.ts';
import { EVENT_STREAM } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { isStillValid } from '../../request/auth.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { shuttingDown } from '../../responses/errors.ts';
import { SseResponse } from '../../transport/sse-response.ts';

/** Streams of one account, and of all: each holds a connection. */
const MAX_PER_ACCOUNT = 16;
const MAX_STREAMS = 512;

/** Bytes that wait for a slow client before its connection is closed. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Tasks that a stream begins with, of each state. */
const SNAPSHOT = 100;

/** Interval at which the key or the session of a stream is checked. */
const KEY_CHECK_MS = 10_000;

/** Changes of the tasks of the key's account, as server-sent events. */
export function taskEventRoutes(server: FastifyInstance, context: AppContext): void {
  // Every stream listens.
  setMaxListeners(0, context.draining);
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
      if (context.draining.aborted) throw shuttingDown();
      const { taskEvents } = context;
      const { account } = request.holder;
      if (taskEvents.size >= MAX_STREAMS || taskEvents.sizeOf(account.id) >= MAX_PER_ACCOUNT) {
        throw new Failure('rate_limit', 'too many streams of events are open; close one of them', {
          code: 'too_many_streams',
          retryAfter: KEY_CHECK_MS / 1000,
        });
      }
      await new TaskStream(context, request, reply).run();
      return reply;
    },
  });
}

/** The events of one connection. */
class TaskStream {
  readonly #context: AppContext;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #stream: SseResponse;
  /** Events that wait for the snapshot; null once it is sent. */
  #waiting: Task[] | null = [];

  constructor(context: AppContext, request: FastifyRequest, reply: FastifyReply) {
    this.#context = context;
    this.#request = request;
    this.#reply = reply;
    this.#stream = new SseResponse(reply);
  }

  /** Resolves when the client disconnects, the key ends or the server drains. */
  async run(): Promise<void> {
    const { taskEvents, draining: drain } = this.#context;
    const { raw } = this.#reply;
    const unsubscribe = taskEvents.subscribe(this.#request.holder.account.id, (task) => {
      if (this.#waiting === null) this.#send(task);
      else this.#waiting.push(task);
    });
    let timer: NodeJS.Timeout | undefined;
    let end = () => {};
    try {
      await this.#sendSnapshot();
      this.#stream.keepAlive();
      await new Promise<void>((resolve) => {
        end = resolve;
        timer = setInterval(() => this.#checkKey(resolve), KEY_CHECK_MS);
        drain.addEventListener('abort', end);
        raw.once('close', end);
        if (drain.aborted || raw.destroyed) end();
      });
    } finally {
      clearInterval(timer);
      drain.removeEventListener('abort', end);
      unsubscribe();
      this.#stream.end();
    }
  }

  /** Sends the state at the beginning, then what changed while it was read. */
  async #sendSnapshot(): Promise<void> {
    const { store } = this.#context;
    const accountId = this.#request.holder.account.id;
    const since = Number(this.#request.headers['last-event-id'] ?? Number.NaN);
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
    this.#stream.write(`event: open\ndata: ${JSON.stringify({ type: 'open', complete })}\n\n`);
    for (const task of tasks.values()) this.#send(task);
    for (const task of this.#waiting!) {
      const sent = tasks.get(task.id);
      const isOld = sent && (isTerminal(sent.status) || sent.updatedAt > task.updatedAt);
      if (!isOld) this.#send(task);
    }
    this.#waiting = null;
  }

  #send(task: Task): void {
    const { raw } = this.#reply;
    if (raw.destroyed) return;
    const data = JSON.stringify(taskRecord(task, this.#context.publicUrl));
    this.#stream.write(`id: ${task.updatedAt}\nevent: task\ndata: ${data}\n\n`);
    // A client that does not read must not fill the memory; it resumes by Last-Event-ID.
    if (raw.writableLength > MAX_WAITING_BYTES) raw.destroy();
  }

  #checkKey(end: () => void): void {
    isStillValid(this.#context, this.#request).then(
      (isValid) => {
        if (!isValid) end();
      },
      // The store fails at present: the next interval tries again.
      () => {},
    );
  }
}
