import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Failure } from '../../failure.ts';
import type { StoredResult } from '../../media/result.ts';
import type { Asset } from '../../store/asset.ts';
import type { AssetFiles } from '../../store/asset-files.ts';
import type { AppContext } from '../app-context.ts';

/**
 * Answers with images inside the answer (interface part 2.5), piece by piece: ten images are more
 * than should be in memory for each client.
 *
 * @throws Failure 404 `asset_not_found` where a file is gone, 500 `asset_damaged` where it is cut
 */
export async function answerInBase64(
  reply: FastifyReply,
  result: StoredResult,
  { assets, store }: Pick<AppContext, 'assets' | 'store'>,
): Promise<FastifyReply> {
  const images = await Promise.all(
    result.outputs.map(async ({ asset }) => {
      const image = await store.findAsset(asset);
      if (image === undefined) throw deleted();
      await assets.check(image);
      return image;
    }),
  );
  const body = Readable.from(textOf(result, images, assets), { objectMode: false });
  return reply.type('application/json; charset=utf-8').send(body);
}

async function* textOf(
  result: StoredResult,
  images: readonly Asset[],
  assets: AssetFiles,
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

/** Three bytes give four characters: what is over goes into the next piece. */
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

function deleted(): Failure {
  return new Failure('invalid_request', 'the images have been deleted', {
    code: 'asset_not_found',
    status: 404,
  });
}
