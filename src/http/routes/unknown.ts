import type { FastifyInstance } from 'fastify';
import { Failure } from '../../failure.ts';

/** Answers what no route answers: 405 where the path exists for another method, else 404. */
export function answerUnknownRoutes(server: FastifyInstance): void {
  const methods = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    methods.set(url, known);
  });
  let patterns: readonly (readonly [RegExp, string])[] | undefined;
  server.setNotFoundHandler((request, reply) => {
    patterns ??= [...methods].map(([url, known]) => [patternOf(url), [...known].join(', ')]);
    const path = request.url.split('?', 1)[0]!;
    const allowed = patterns.find(([pattern]) => pattern.test(path))?.[1];
    if (allowed !== undefined) {
      reply.header('allow', allowed);
      throw new Failure('invalid_request', `${request.method} is not possible on ${path}`, {
        code: 'method_not_allowed',
        status: 405,
      });
    }
    throw unknownEndpoint(path, methods.has('/docs'));
  });
}

/** @param isListed whether this server has the page that lists its endpoints */
export function unknownEndpoint(path: string, isListed: boolean): Failure {
  const message = `there is no endpoint ${path}${isListed ? '; /docs lists what there is' : ''}`;
  return new Failure('invalid_request', message, { code: 'unknown_endpoint', status: 404 });
}

/** A route's own notation as an expression: `/v1/models/:id`, `/docs/*`. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:[^/]+/g, '[^/]+').replaceAll('*', '.*')}$`);
}
