import type { FastifyPluginAsync } from 'fastify';
import { unknownEndpoint } from './unknown.ts';

/** Redirects browsers from `/` and `/docs` to the console; other clients get 404 for `/`. */
export const rootRoutes: FastifyPluginAsync = async (server) => {
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
};
