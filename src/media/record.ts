import * as v from 'valibot';
import { nameOf } from '../config/catalog/model-names.ts';
import { FAILURE_TYPES, Failure } from '../failure.ts';
import { TASK_STATES, TASK_TYPES, type Task, type TaskError } from '../store/task.ts';
import type { TaskRequest } from './task/task-request.ts';
import { type StoredResult, usageShape } from './task/task-request.ts';

/** The image result that clients get, in OpenAI's shape. */
export const imagesShape = v.object({
  created: v.number(),
  data: v.array(
    v.object({
      url: v.optional(v.string()),
      b64_json: v.optional(v.string()),
      revised_prompt: v.optional(v.string()),
    }),
  ),
  usage: v.optional(usageShape),
});

const videosShape = v.object({
  status: v.literal('completed'),
  video_url: v.string(),
  urls: v.array(v.string()),
});

const audiosShape = v.object({ audio_url: v.string(), urls: v.array(v.string()) });

/** The task record that clients get. */
export const taskShape = v.object({
  task_id: v.string(),
  status: v.picklist(TASK_STATES),
  model: v.string(),
  type: v.picklist(TASK_TYPES),
  result: v.nullable(v.union([imagesShape, videosShape, audiosShape])),
  error: v.nullable(
    v.object({
      type: v.picklist(FAILURE_TYPES),
      message: v.string(),
      code: v.nullable(v.string()),
      param: v.optional(v.string()),
    }),
  ),
});

type TaskRecord = v.InferOutput<typeof taskShape>;

/** The result of an image task, with URLs. */
type ImageResult = v.InferOutput<typeof imagesShape>;

/** The URL of an asset. @param publicUrl base URL by which clients reach this server */
export function assetUrl(publicUrl: string, asset: string): string {
  return `${publicUrl}/assets/${asset}`;
}

/** The name of a task's model as the client sent it. */
export function nameOfTask({ model, request }: Task): string {
  const { wildcardPart = null } = request as TaskRequest;
  return nameOf(model, wildcardPart);
}

/** A task as clients see it; every field is always present. */
export function taskRecord(task: Task, publicUrl: string): TaskRecord {
  const { id, status, type, result, error } = task;
  return {
    task_id: id,
    status,
    model: nameOfTask(task),
    type,
    result: result === null ? null : resultOf(type, result as StoredResult, publicUrl),
    error,
  };
}

function resultOf(
  type: Task['type'],
  result: StoredResult,
  publicUrl: string,
): NonNullable<TaskRecord['result']> {
  const urls = result.outputs.map(({ asset }) => assetUrl(publicUrl, asset));
  switch (type) {
    case 'image':
      return imageResult(result, publicUrl);
    case 'video':
      return { status: 'completed', video_url: urls[0]!, urls };
    case 'audio':
      return { audio_url: urls[0]!, urls };
  }
}

export function imageResult(result: StoredResult, publicUrl: string): ImageResult {
  return {
    created: result.created,
    data: result.outputs.map(({ asset, revisedPrompt }) => ({
      url: assetUrl(publicUrl, asset),
      ...(revisedPrompt !== null && { revised_prompt: revisedPrompt }),
    })),
    ...(result.usage !== null && { usage: result.usage }),
  };
}

/** The stored error of a task as a Failure, for a client that waits for the task. */
export function failureOf({ type, message, code, param }: TaskError): Failure {
  return new Failure(type, message, { originalCode: code, ...(param !== undefined && { param }) });
}
