import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Failure } from '../failure.ts';
import type { StoredResult } from '../media/result.ts';
import type { AssetFiles } from '../store/assets.ts';

/** Bytes that are encoded at once: three of them give four characters, with nothing between pieces. */
const PIECE = 3 * 32 * 1024;

/**
 * Answers with images inside the answer (interface part 2.5), piece by piece: ten images are more
 * than should be in memory for each client.
 *
 * @throws Failure 404 `asset_not_found` where a file is gone
 */
export async function answerInBase64(
  reply: FastifyReply,
  result: StoredResult,
  assets: AssetFiles,
): Promise<FastifyReply> {
  await Promise.all(result.outputs.map(({ asset }) => stat(assets.pathOf(asset)).catch(refuse)));
  const body = Readable.from(textOf(result, assets), { objectMode: false });
  return reply.type('application/json; charset=utf-8').send(body);
}

async function* textOf(result: StoredResult, assets: AssetFiles): AsyncGenerator<string> {
  const { created, outputs, usage } = result;
  yield `{"created":${created},"data":[`;
  for (const [index, { asset, revisedPrompt }] of outputs.entries()) {
    yield `${index === 0 ? '' : ','}{"b64_json":"`;
    yield* base64Of(assets.pathOf(asset));
    yield '"';
    if (revisedPrompt !== null) yield `,"revised_prompt":${JSON.stringify(revisedPrompt)}`;
    yield '}';
  }
  yield ']';
  if (usage !== null) yield `,"usage":${JSON.stringify(usage)}`;
  yield '}\n';
}

async function* base64Of(path: string): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: PIECE })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield rest.toString('base64');
}

function refuse(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error;
  throw new Failure('invalid_request', 'the images have been deleted', {
    code: 'asset_not_found',
    status: 404,
  });
}
