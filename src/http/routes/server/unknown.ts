import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { codedFailure, type Failure } from '../../../failure.ts';
import { getOrInsert } from '../../../maps.ts';
import { BATCHES } from '../../../operations/internal.ts';

/** Answers requests without a route: 405 if the path has another method, else 404. */
export function answerUnknownRoutes(server: FastifyInstance): void {
  const methods = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ url, method }) => {
    const known = getOrInsert(methods, url, () => new Set());
    for (const one of [method].flat()) known.add(one);
  });
  let patterns: readonly (readonly [RegExp, string])[] | undefined;
  server.setNotFoundHandler((request, reply) => {
    patterns ??= [...methods].map(([url, known]) => [patternOf(url), [...known].join(', ')]);
    const path = request.url.split('?', 1)[0]!;
    const allowed = patterns.find(([pattern]) => pattern.test(path))?.[1];
    if (allowed !== undefined && isWebSocket(request.headers)) {
      // Clients that try a WebSocket first, such as Codex, fall back to HTTP at once.
      reply.header('upgrade', 'HTTP/1.1');
      const message = `${path} does not accept WebSockets; send the request over HTTP`;
      throw codedFailure('upgrade_required', message);
    }
    if (allowed !== undefined) {
      reply.header('allow', allowed);
      throw codedFailure(
        'method_not_allowed',
        `${path} does not accept ${request.method}; the header Allow lists its methods`,
      );
    }
    const [near] = meant(path).filter((one) => patterns!.some(([pattern]) => pattern.test(one)));
    throw unknownEndpoint(path, methods.has('/openapi.json'), near);
  });
}

/** Whether a client tries to open a WebSocket. Proxies drop Upgrade, since it is a header of one connection. */
function isWebSocket({ upgrade, 'sec-websocket-key': key }: IncomingHttpHeaders): boolean {
  return key !== undefined || upgrade?.toLowerCase() === 'websocket';
}

/** Paths that a client with the wrong base URL may mean: one that repeats the version, or lacks it. */
const meant = (path: string): string[] => [path.replace(/^\/v1(?=\/v1\/)/, ''), `/v1${path}`];

/**
 * @param isListed whether this server has the document that lists its endpoints
 * @param near an endpoint that the client may mean
 */
export function unknownEndpoint(path: string, isListed: boolean, near?: string): Failure {
  const [, words = ''] = /^\/api\/free\/([a-z-]{1,64})$/.exec(path) ?? [];
  const operation = BATCHES.find(({ name }) => words.split('-').includes(name));
  const hints = [
    near && `check the client's base URL, because ${near} is one`,
    isListed && '/openapi.json lists all endpoints',
    operation && `oriel ${operation.name} is /api/free/${operation.endpoint}`,
  ];
  const message = [`there is no endpoint ${path}`, ...hints.filter(Boolean)].join('; ');
  return codedFailure('unknown_endpoint', message);
}

/**
 * A regular expression for a route's pattern: `/v1/models/:id`, `/console/*`. In paths such as
 * `/v1beta/models/one:countTokens`, the end is no part of an identifier. Oriel's identifiers have more than small
 * letters, so `/v1/videos/edits` is another endpoint than `/v1/videos/:video_id`.
 */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  const named = escaped.replace(/:\w+_id/g, '(?![a-z]+(?:/|$))[^/]+').replace(/:[^/]+/g, '[^/]+');
  return new RegExp(`^${named.replaceAll('*', '[^:]+')}$`);
}

/** Redirects browsers from `/` and `/docs` to the console; other clients get 404 for `/`. */
export function rootRoutes(server: FastifyInstance): void {
  // Relative: a reverse proxy may serve this below a path.
  server.get('/', async ({ headers }, reply) => {
    reply.header('vary', reply.hasHeader('vary') ? 'origin, accept' : 'accept');
    if (/\btext\/html\b/.test(headers.accept ?? '')) return reply.redirect('console');
    throw unknownEndpoint('/', server.hasRoute({ method: 'GET', url: '/openapi.json' }));
  });
  server.get('/docs', { schema: { hide: true } }, async ({ url }, reply) => {
    const isFolder = url.split('?', 1)[0]!.endsWith('/');
    return reply.redirect(`${isFolder ? '../' : ''}console/api`);
  });
}
