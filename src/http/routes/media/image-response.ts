import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AssetStorage } from '../../../assets/storage/asset-storage.ts';
import { failureOf, imageResult } from '../../../media/record.ts';
import type {
  ImageTaskRequest,
  MediaUsage,
  StoredResult,
} from '../../../media/task/task-request.ts';
import type { Asset } from '../../../store/asset.ts';
import type { AppContext } from '../../request/app-context.ts';
import { sendEvents } from '../../transport/sse-response.ts';
import {
  type AwaitedTask,
  announceTask,
  resultFiles,
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
  const task = await waitForEnd(context, reply, awaited);
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
  awaited: AwaitedTask,
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

/** Usage of images before the last one, and where the provider reports none. */
export const NO_USAGE: MediaUsage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
};

/**
 * The events of a task's images as OpenAI's streams have them, in pieces: one for each image. The last one has
 * the usage of all, since OpenAI's form requires usage in each.
 *
 * @throws Failure of the task, or timeout with code `task_running`
 */
async function* imageEvents(
  context: AppContext,
  reply: FastifyReply,
  awaited: AwaitedTask,
): AsyncGenerator<string> {
  const result = await waitForResult(context, reply, awaited);
  const images = await resultFiles(result, context);
  const request = awaited.submitted.request as ImageTaskRequest;
  const type = request.edit ? 'image_edit.completed' : 'image_generation.completed';
  for (const [index, image] of images.entries()) {
    yield `event: ${type}\ndata: {"type":"${type}","b64_json":"`;
    yield* base64Of(context.assets.chunks(image, { signal: awaited.signal }));
    yield `",${JSON.stringify(detailsOf(request, result, index, image)).slice(1)}\n\n`;
  }
}

function detailsOf(
  { size, quality, options }: ImageTaskRequest,
  { created, outputs, usage }: StoredResult,
  index: number,
  { mediaType }: Asset,
) {
  const { revisedPrompt } = outputs[index]!;
  return {
    created_at: created,
    size: size ?? 'auto',
    quality: quality ?? 'auto',
    background: options?.['background'] ?? 'auto',
    output_format: mediaType.replace('image/', ''),
    ...(revisedPrompt !== null && { revised_prompt: revisedPrompt }),
    usage: (index === outputs.length - 1 ? usage : null) ?? NO_USAGE,
  };
}

/**
 * Sends images as base64 in JSON, chunk by chunk: ten images for each client would
 * take too much memory.
 *
 * @throws Failure 404 `asset_not_found` if a file was deleted, 500 `asset_damaged` if it is truncated
 */
async function sendBase64Images(
  reply: FastifyReply,
  result: StoredResult,
  { assets, store }: Pick<AppContext, 'assets' | 'store'>,
): Promise<FastifyReply> {
  const images = await resultFiles(result, { assets, store });
  const body = Readable.from(jsonOf(result, images, assets), { objectMode: false });
  return reply.type('application/json; charset=utf-8').send(body);
}

async function* jsonOf(
  result: StoredResult,
  images: readonly Asset[],
  assets: AssetStorage,
): AsyncGenerator<string> {
  const { created, outputs, usage } = result;
  yield `{"created":${created},"data":[`;
  for (const [index, { revisedPrompt }] of outputs.entries()) {
    yield `${index === 0 ? '' : ','}{"b64_json":"`;
    yield* base64Of(assets.chunks(images[index]!));
    yield '"';
    if (revisedPrompt !== null) yield `,"revised_prompt":${JSON.stringify(revisedPrompt)}`;
    yield '}';
  }
  yield ']';
  if (usage !== null) yield `,"usage":${JSON.stringify(usage)}`;
  yield '}\n';
}

/** Encodes chunks as base64. Three bytes give four characters: a remainder goes into the next chunk. */
async function* base64Of(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield Buffer.from(rest).toString('base64');
}
