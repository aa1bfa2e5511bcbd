import type { FastifyReply } from 'fastify';
import { Failure } from '../../failure.ts';
import { ignoredAdvice } from '../../media/image-options.ts';
import { failureOf, imageResult } from '../../media/record.ts';
import type { StoredResult } from '../../media/result.ts';
import type { TaskRequest } from '../../media/task-request.ts';
import { isTerminal, type Task } from '../../store/task.ts';
import { IGNORED_HEADER, pathsHeader } from '../../text/execution/execution.ts';
import type { AppContext } from '../app-context.ts';
import { sendBase64Images } from './base64-response.ts';
import type { ResponseFormat } from './response-format.ts';

/** The task creation response of interface part 2.3, with its status. */
export function sendCreated(reply: FastifyReply, { id, model, status }: Task): FastifyReply {
  return reply.code(202).send({
    task_id: id,
    // A repeated request gets the response of the first one, even if the task has ended since.
    status: isTerminal(status) ? 'pending' : status,
    model,
    poll_url: pollUrl(id),
  });
}

function pollUrl(taskId: string): string {
  return `/v1/tasks/${taskId}`;
}

/**
 * Names the advice of a task's request that a route of its model leaves out. Which route will serve the
 * task is not known yet.
 */
export function announceIgnored(
  reply: FastifyReply,
  { model: id, request }: Task,
  { models, providers }: AppContext['config'],
): void {
  const routes = Object.hasOwn(models, id) ? models[id]!.routes : [];
  const ignored = new Set(
    routes.flatMap((route) => ignoredAdvice(request as TaskRequest, route, providers)),
  );
  if (ignored.size > 0) reply.header(IGNORED_HEADER, pathsHeader([...ignored]));
}

/** A task whose images a client waits for. */
export interface AwaitedImages {
  readonly submitted: Task;
  readonly format: ResponseFormat;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Waits for a task's images as long as `limits.syncWait`, and sends them (interface part 2.5), or the
 * task if it still runs (2.3). A client that disconnects ends the wait, not the task.
 *
 * @throws Failure of the task
 */
export async function sendImages(
  context: AppContext,
  reply: FastifyReply,
  images: AwaitedImages,
): Promise<FastifyReply> {
  const task = await waitForEnd(context, images);
  if (task.error !== null) throw failureOf(task.error);
  if (task.status !== 'completed') return sendCreated(reply, task);
  return sendResult(context, reply, task, images.format);
}

/**
 * Waits like `sendImages`, for clients of OpenAI's interface, which has no tasks: a task that still runs is
 * an error that names it.
 *
 * @param isRepeatable whether a repeated request gets the same task, by its Idempotency-Key
 * @throws Failure of the task, or timeout with code `task_running`
 */
export async function sendOpenAiImages(
  context: AppContext,
  reply: FastifyReply,
  images: AwaitedImages,
  isRepeatable: boolean,
): Promise<FastifyReply> {
  reply.header('x-oriel-task', images.submitted.id);
  const task = await waitForEnd(context, images);
  if (task.status === 'completed') return sendResult(context, reply, task, images.format);
  const failure = task.error === null ? stillRunning(task) : failureOf(task.error);
  // OpenAI's SDKs repeat requests after 5xx, and each repetition would be charged again.
  const isCharged = failure.type === 'billable_error' || task.error === null;
  if (isCharged && !isRepeatable) reply.header('x-should-retry', 'false');
  throw failure;
}

async function waitForEnd(
  { media, config }: AppContext,
  { submitted, signal }: AwaitedImages,
): Promise<Task> {
  const task = await media.waitFor(submitted, config.limits.syncWait, signal);
  signal.throwIfAborted();
  return task;
}

async function sendResult(
  context: AppContext,
  reply: FastifyReply,
  task: Task,
  format: ResponseFormat,
): Promise<FastifyReply> {
  const result = task.result as StoredResult;
  if (format === 'b64_json') return sendBase64Images(reply, result, context);
  return reply.send(imageResult(result, context.publicUrl));
}

function stillRunning({ id }: Task): Failure<'timeout'> {
  return new Failure(
    'timeout',
    `the images are not ready yet; the task ${id} goes on, and GET ${pollUrl(id)} returns them`,
    { code: 'task_running' },
  );
}
