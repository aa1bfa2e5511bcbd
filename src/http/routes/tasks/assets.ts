import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AssetStorage, ReadOptions } from '../../../assets/storage/asset-storage.ts';
import type { StoredFile } from '../../../assets/storage/verification.ts';
import { codedFailure, type Failure } from '../../../failure.ts';
import type { Asset } from '../../../store/asset.ts';
import { BINARY } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { allowsRange, matchesTag, rangeOf } from '../../responses/range.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';

/** Headers of every file that any page may show: it runs no scripts. */
export const FILE_HEADERS = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
} as const;

/** Headers of every asset, whose content never changes. */
const HEADERS = {
  ...FILE_HEADERS,
  'cache-control': 'public, max-age=31536000, immutable',
  'accept-ranges': 'bytes',
} as const;

interface NamedRoute {
  readonly Params: { readonly name: string };
}

/** Files of results and uploads. Their names are secrets: no key is needed. */
export function assetRoutes(server: FastifyInstance, context: AppContext): void {
  const answer = async (request: FastifyRequest<NamedRoute>, reply: FastifyReply) => {
    const asset = await context.store.findAsset(request.params.name);
    if (asset === undefined) throw notFound();
    return answerFile(asset, context.assets, request, reply);
  };
  addEndpoint(server, {
    path: 'GET /assets/:name',
    tag: 'Assets',
    summary: 'A generated or uploaded file; supports single ranges',
    isPublic: true,
    exposeHeadRoute: false,
    answer: {
      description: 'The file',
      content: { 'application/octet-stream': { schema: BINARY } },
    },
    handler: answer,
  });
  server.head<NamedRoute>('/assets/:name', answer);
}

/** Sends a file or a range of it. The response for a damaged file fails or ends early. */
async function answerFile(
  asset: Asset,
  assets: AssetStorage,
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id, mediaType, bytes: size } = asset;
  const tag = `"${id}"`;
  if (matchesTag(headers['if-none-match'], tag)) {
    await assets.check(asset);
    return reply
      .code(304)
      .headers({ ...HEADERS, etag: tag })
      .send();
  }
  const link = method === 'GET' ? assets.link(asset) : null;
  if (link !== null) {
    return reply
      .headers({ ...HEADERS, 'cache-control': `public, max-age=${Math.floor(link.seconds / 2)}` })
      .redirect(link.url, 302);
  }
  const hasRange = method === 'GET' && allowsRange(headers['if-range'] as string | undefined, tag);
  const range = hasRange ? rangeOf(headers.range, size) : null;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`);
    throw codedFailure('range_not_satisfiable', `Range: the file has ${size} bytes`, {
      param: 'Range',
    });
  }
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const isWhole = first === 0 && last === size - 1;
  let body: Readable | undefined;
  if (method === 'HEAD' || size === 0) await assets.check(asset);
  else {
    const signal = disconnectSignal(reply);
    body = await bodyOf(asset, assets, { signal, range: isWhole ? null : range });
  }
  reply.headers({ ...HEADERS, etag: tag, 'content-length': last - first + 1 }).type(mediaType);
  if (range) reply.code(206).header('content-range', `bytes ${first}-${last}/${size}`);
  return reply.send(body);
}

/** A file's content, or a range of it. The first chunk is read before the headers are sent. */
export async function bodyOf(
  asset: StoredFile,
  assets: AssetStorage,
  options: ReadOptions,
): Promise<Readable> {
  const chunks = assets.chunks(asset, options);
  const first = await chunks.next();
  // A generator around this one would not close the file if it were never started.
  const body = Readable.from(chunks, { objectMode: false });
  body.unshift(first.value!);
  return body;
}

function notFound(): Failure {
  return codedFailure('asset_not_found', 'there is no such file', { param: 'name' });
}
