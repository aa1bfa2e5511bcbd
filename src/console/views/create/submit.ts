import { ApiError, send, sendJson } from '../../api/request.ts';
import { isOwnFile, localUrlOf } from '../../api/tasks.ts';
import { crc32 } from '../../components/bytes.ts';
import type { Input } from './draft.ts';
import { alphaOf } from './mask.ts';
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

/**
 * A black PNG of eight bits a channel with this alpha (PNG specification, third edition). Browsers that
 * defend against fingerprinting add noise to what a canvas exports, so that its mask would be inexact.
 */
export async function pngOf(width: number, height: number, alpha: Uint8Array): Promise<Blob> {
  // Eight bits; colour type 6 is RGBA.
  const header = Uint8Array.of(...bigEndian(width), ...bigEndian(height), 8, 6, 0, 0, 0);
  const parts = [
    new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    ...chunkOf('IHDR', header),
    ...chunkOf('IDAT', await deflated(rowsOf(width, height, alpha))),
    ...chunkOf('IEND', new Uint8Array()),
  ];
  return new Blob(parts, { type: 'image/png' });
}

/** Rows of pixels, each after a byte that names no filter. */
function* rowsOf(
  width: number,
  height: number,
  alpha: Uint8Array,
): Generator<Uint8Array<ArrayBuffer>> {
  for (let row = 0; row < height; row += 1) {
    const bytes = new Uint8Array(1 + width * 4);
    for (let column = 0; column < width; column += 1) {
      bytes[column * 4 + 4] = alpha[row * width + column]!;
    }
    yield bytes;
  }
}

async function deflated(rows: Iterable<Uint8Array<ArrayBuffer>>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new CompressionStream('deflate');
  const bytes = new Response(stream.readable).arrayBuffer();
  const writer = stream.writable.getWriter();
  for (const row of rows) await writer.write(row);
  await writer.close();
  return new Uint8Array(await bytes);
}

function chunkOf(type: string, content: Uint8Array): readonly Uint8Array<ArrayBuffer>[] {
  const named = new Uint8Array(4 + content.length);
  named.set(new TextEncoder().encode(type));
  named.set(content, 4);
  return [bigEndian(content.length), named, bigEndian(crc32(named))];
}

function bigEndian(value: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}
