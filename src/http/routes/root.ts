import type { FastifyPluginAsync } from 'fastify';
import { unknownEndpoint } from './unknown.ts';

/**
 * Redirects browsers from `/` to a page; other clients get 404.
 *
 * @param page `console` or `docs`
 */
export function rootRoute(page: string): FastifyPluginAsync {
  return async (server) => {
    server.get('/', async ({ headers }, reply) => {
      reply.header('vary', reply.hasHeader('vary') ? 'origin, accept' : 'accept');
      // Relative: a reverse proxy may serve this below a path.
      if (/\btext\/html\b/.test(headers.accept ?? '')) return reply.redirect(page);
      throw unknownEndpoint('/', server.hasRoute({ method: 'GET', url: '/docs' }));
    });
  };
}
