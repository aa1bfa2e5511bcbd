import type { FastifyInstance } from 'fastify';
import { answering, fixAnswers } from '../../store/answer-identity.ts';

/**
 * Makes the identifiers in answers to JSON requests follow from the request: from its path and its body, but not from
 * its headers and query, which may hold keys.
 */
export function fixIdentifiers(server: FastifyInstance): void {
  fixAnswers();
  server.addHook('preHandler', (request, reply, next) => {
    const { method, url, body, headers } = request;
    // The fields of forms are read later; no answer to a form has identifiers but those of tasks and files.
    if (body == null) return next();
    answering(`${method} ${url.split('?', 1)[0]} ${JSON.stringify(body)}`, (digest) => {
      // Errors of messages repeat the identifier of the request. A client's own one stays.
      if (request.id !== headers['x-request-id']) request.id = `req_${digest.slice(0, 24)}`;
      reply.header('x-request-id', request.id);
      next();
    });
  });
}
