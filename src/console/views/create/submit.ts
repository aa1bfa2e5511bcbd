import { ApiError, send, sendJson } from '../../api/request.ts';
import { isOwnFile, localUrlOf } from '../../api/tasks.ts';
import type { Input } from './draft.ts';
import { alphaOf } from './mask.ts';
import { pngOf } from './png.ts';
import type { MediaRequest } from './request.ts';

/** Bytes of one image; the server refuses larger ones. */
const MAX_BYTES = 30 * 1024 * 1024;

/**
 * Creates the task of a request.
 *
 * @returns identifier of the task, and the names of fields that the model ignores
 * @throws ApiError
 */
export async function createTask(
  { path, fields, edit }: MediaRequest,
  idempotencyKey: string,
): Promise<{ readonly id: string; readonly ignored: string | null }> {
  // An edit waits for its images unless the client prefers the task.
  const headers = { 'idempotency-key': idempotencyKey, prefer: 'respond-async' };
  const body = edit === null ? { json: fields } : { form: await formOf(fields, edit) };
  const response = await send(path, { ...body, headers });
  const { task_id: id } = (await response.json()) as { task_id: string };
  return { id, ignored: response.headers.get('x-oriel-ignored') };
}

async function formOf(
  fields: MediaRequest['fields'],
  { images, mask }: NonNullable<MediaRequest['edit']>,
): Promise<FormData> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  const name = images.length === 1 ? 'image' : 'image[]';
  for (const image of images) form.append(name, await bytesOf(image, 'image'), image.name);
  if (typeof mask === 'string') {
    form.append('mask', await bytesOf({ url: mask, name: 'mask' }, 'mask'), 'mask.png');
  } else if (mask !== null) {
    form.append('mask', await pngOf(mask.width, mask.height, alphaOf(mask)), 'mask.png');
  }
  return form;
}

async function bytesOf({ url, name }: Input, param: string): Promise<Blob> {
  const missing = new ApiError(
    `The file “${name}” is no longer on the server. Remove it and add it again.`,
    { param },
  );
  if (!isOwnFile(url)) throw missing;
  try {
    return await (await send(localUrlOf(url))).blob();
  } catch (error) {
    throw error instanceof ApiError && error.status === 404 ? missing : error;
  }
}

/** Puts an image on the server. @throws ApiError that names the file */
export async function upload(file: File): Promise<Input> {
  const refuse = (reason: string) => new ApiError(`${file.name}: ${reason}`);
  if (file.size > MAX_BYTES) throw refuse('it has more than 30 MiB.');
  const form = new FormData();
  form.append('file', file);
  try {
    const { url } = await sendJson<{ url: string }>('v1/images/upload', { form });
    return { url, name: file.name || 'pasted image' };
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}
