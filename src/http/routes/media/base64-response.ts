import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { AssetStorage } from '../../../assets/storage/asset-storage.ts';
import type { StoredResult } from '../../../media/task/task-request.ts';
import type { Asset } from '../../../store/asset.ts';
import type { AppContext } from '../../request/app-context.ts';
import { resultFiles } from './media-response.ts';

/**
 * Sends images as base64 in JSON, chunk by chunk: ten images for each client would
 * take too much memory.
 *
 * @throws Failure 404 `asset_not_found` if a file was deleted, 500 `asset_damaged` if it is truncated
 */
export async function sendBase64Images(
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
export async function* base64Of(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield Buffer.from(rest).toString('base64');
}
