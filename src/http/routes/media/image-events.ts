import type { FastifyReply } from 'fastify';
import type {
  ImageTaskRequest,
  MediaUsage,
  StoredResult,
} from '../../../media/task/task-request.ts';
import type { Asset } from '../../../store/asset.ts';
import type { AppContext } from '../../request/app-context.ts';
import { base64Of } from './base64-response.ts';
import { type OpenAiTask, resultFiles, waitForResult } from './media-response.ts';

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
export async function* imageEvents(
  context: AppContext,
  reply: FastifyReply,
  awaited: OpenAiTask,
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
