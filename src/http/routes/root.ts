import type { FastifyPluginAsync } from 'fastify';
import { unknownEndpoint } from './unknown.ts';

/** Sends browsers that ask for `/` to the documentation; programs are told that it is no endpoint. */
export const indexRoute: FastifyPluginAsync = async (server) => {
  server.get('/', async ({ headers }, reply) => {
    reply.header('vary', 'accept');
    // Relative, for a server that is below a path of another.
    if (/\btext\/html\b/.test(headers.accept ?? '')) return reply.redirect('docs');
    throw unknownEndpoint('/', true);
  });
};
