import type { FastifyReply, FastifyRequest } from 'fastify';
import { failureOf, imageResult } from '../../../media/record.ts';
import type { StoredResult } from '../../../media/task/task-request.ts';
import type { AppContext } from '../../request/app-context.ts';
import { sendEvents } from '../../transport/event-response.ts';
import { sendBase64Images } from './base64-response.ts';
import { imageEvents } from './image-events.ts';
import {
  type AwaitedTask,
  announceTask,
  type OpenAiTask,
  sendCreated,
  waitForEnd,
  waitForResult,
} from './media-response.ts';
import type { ImageResponse, ResponseFormat } from './response-format.ts';

/**
 * Waits for a task's images and sends them, or the task if it still runs.
 *
 * @throws Failure of the task
 */
export async function sendImages(
  context: AppContext,
  reply: FastifyReply,
  awaited: AwaitedTask,
  format: ResponseFormat,
): Promise<FastifyReply> {
  const task = await waitForEnd(context, awaited);
  if (task.error !== null) throw failureOf(task.error);
  if (task.status !== 'completed') return sendCreated(reply, task);
  return sendResult(context, reply, task.result as StoredResult, format);
}

/**
 * Waits for a task's images and sends them as OpenAI does, in JSON or as events.
 *
 * @throws Failure of the task, or timeout with code `task_running`
 */
export async function sendOpenAiImages(
  context: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  awaited: OpenAiTask,
  { format, isStreamed }: ImageResponse,
): Promise<FastifyReply> {
  announceTask(reply, awaited);
  if (isStreamed) return sendEvents(request, reply, imageEvents(context, reply, awaited));
  const result = await waitForResult(context, reply, awaited);
  return sendResult(context, reply, result, format ?? 'url');
}

async function sendResult(
  context: AppContext,
  reply: FastifyReply,
  result: StoredResult,
  format: ResponseFormat,
): Promise<FastifyReply> {
  if (format === 'b64_json') return sendBase64Images(reply, result, context);
  return reply.send(imageResult(result, context.publicUrl));
}
