import type { ReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../failure.ts';
import type { Asset } from '../store/asset.ts';
import type { Gateway } from './gateway.ts';
import { allowsRange, names, rangeOf } from './range.ts';

/** What is the same for every file: made by others, for ever the same, and for any page to show. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'accept-ranges': 'bytes',
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
} as const;

interface Named {
  readonly Params: { readonly name: string };
}

/** Files, for whoever has their names. */
export function assetRoutes(gateway: Gateway): FastifyPluginAsync {
  const answer = async (request: FastifyRequest<Named>, reply: FastifyReply) => {
    const asset = await gateway.store.findAsset(request.params.name);
    if (asset === undefined) throw notFound();
    return answerFile(asset, await openFile(gateway.assets.pathOf(asset.id)), request, reply);
  };
  return async (server) => {
    server.get<Named>('/assets/:name', {
      schema: {
        summary: 'A file that was made or uploaded; single ranges are served',
        tags: ['Assets'],
        security: [],
        response: {
          200: {
            description: 'The file',
            content: {
              'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
            },
          },
        },
      },
      exposeHeadRoute: false,
      handler: answer,
    });
    server.head<Named>('/assets/:name', answer);
  };
}

/** Sends what is asked of an open file, which is closed on every way out. */
async function answerFile(
  { id, mediaType }: Asset,
  file: FileHandle,
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let body: ReadStream | undefined;
  try {
    const tag = `"${id}"`;
    if (names(headers['if-none-match'], tag)) {
      return reply
        .code(304)
        .headers({ ...HEADERS, etag: tag })
        .send();
    }
    const { size } = await file.stat();
    const counts = method === 'GET' && allowsRange(headers['if-range'] as string | undefined, tag);
    const range = counts ? rangeOf(headers.range, size) : null;
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${size}`);
      throw new Failure('invalid_request', `Range: the file has ${size} bytes`, {
        param: 'Range',
        code: 'range_not_satisfiable',
        status: 416,
      });
    }
    const { first, last } = range ?? { first: 0, last: size - 1 };
    reply.headers({ ...HEADERS, etag: tag, 'content-length': last - first + 1 }).type(mediaType);
    if (range) reply.code(206).header('content-range', `bytes ${first}-${last}/${size}`);
    if (method === 'HEAD' || size === 0) return reply.send();
    body = file.createReadStream({ start: first, end: last });
    return reply.send(body);
  } finally {
    // A stream closes the file at its own end.
    if (body === undefined) await file.close();
  }
}

/** @throws Failure 404, also where the file has gone since its name was looked up */
async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notFound();
    throw error;
  }
}

function notFound(): Failure {
  return new Failure('invalid_request', 'there is no such file', {
    code: 'asset_not_found',
    param: 'name',
    status: 404,
  });
}
