import type { FastifyPluginAsync } from 'fastify';
import { unknownEndpoint } from './unknown.ts';

/** Redirects browsers from `/` to the documentation; other clients get 404. */
export const rootRoute: FastifyPluginAsync = async (server) => {
  server.get('/', async ({ headers }, reply) => {
    reply.header('vary', reply.hasHeader('vary') ? 'origin, accept' : 'accept');
    // Relative: a reverse proxy may serve this below a path.
    if (/\btext\/html\b/.test(headers.accept ?? '')) return reply.redirect('docs');
    throw unknownEndpoint('/', true);
  });
};
