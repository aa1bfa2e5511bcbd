import { Failure } from '../failure.ts';
import type { Task, TaskError } from '../store/task.ts';
import type { MediaUsage, StoredResult } from './result.ts';

/** The task record of interface part 2.4. */
export interface TaskRecord {
  readonly task_id: string;
  readonly status: Task['status'];
  readonly model: string;
  readonly type: Task['type'];
  readonly result: ImageResult | VideoResult | AudioResult | null;
  readonly error: TaskError | null;
}

/** The image result of interface part 2.5, its images as addresses. */
export interface ImageResult {
  readonly created: number;
  readonly data: readonly { readonly url: string; readonly revised_prompt?: string }[];
  readonly usage?: MediaUsage;
}

interface VideoResult {
  readonly status: 'completed';
  readonly video_url: string;
  readonly urls: readonly string[];
}

interface AudioResult {
  readonly audio_url: string;
  readonly urls: readonly string[];
}

/** Where an asset is to be had. @param publicUrl how clients reach this server */
export function assetUrl(publicUrl: string, asset: string): string {
  return `${publicUrl}/assets/${asset}`;
}

/** What a task's record shows: every field, always. */
export function taskRecord(task: Task, publicUrl: string): TaskRecord {
  const { id, status, model, type, result, error } = task;
  return {
    task_id: id,
    status,
    model,
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

/** What ended a task, for a client that waits for it. */
export function failureOf({ type, message, code }: TaskError): Failure {
  return new Failure(type, message, { originalCode: code });
}
