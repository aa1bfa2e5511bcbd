import type { FastifyReply } from 'fastify';
import { failureOf, imageResult } from '../../media/record.ts';
import type { StoredResult } from '../../media/result.ts';
import { isTerminal, type Task } from '../../store/task.ts';
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
    poll_url: `/v1/tasks/${id}`,
  });
}

/**
 * Waits for a task's images as long as `limits.syncWait`, and sends them (interface part 2.5), or the
 * task if it still runs (2.3). A client that disconnects ends the wait, not the task.
 *
 * @param signal aborts when the client disconnects
 * @throws Failure of the task
 */
export async function sendImages(
  context: AppContext,
  reply: FastifyReply,
  submitted: Task,
  format: ResponseFormat,
  signal: AbortSignal,
): Promise<FastifyReply> {
  const task = await context.media.waitFor(submitted, context.config.limits.syncWait, signal);
  signal.throwIfAborted();
  if (task.error !== null) throw failureOf(task.error);
  if (task.status !== 'completed') return sendCreated(reply, task);
  const result = task.result as StoredResult;
  if (format === 'b64_json') return sendBase64Images(reply, result, context);
  return reply.send(imageResult(result, context.publicUrl));
}
