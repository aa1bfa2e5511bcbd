import type { FastifyInstance, FastifyRequest } from 'fastify';
import { answering, fixAnswers } from '../../store/answer-identity.ts';

/**
 * Makes the identifiers in answers to JSON requests follow from the request: from its path and its body, but not from
 * its headers and query, which may hold keys.
 */
export function fixIdentifiers(server: FastifyInstance): void {
  fixAnswers();
  server.addHook('preHandler', (request, reply, next) => {
    const { body } = request;
    // The fields of forms are read later; no answer to a form has identifiers but those of tasks and files.
    if (body == null) return next();
    answering(`${request.method} ${pathOf(request)} ${JSON.stringify(body)}`, (digest) => {
      nameRequest(request, digest);
      reply.header('x-request-id', request.id);
      next();
    });
  });
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!;
}

/** Errors of messages repeat the identifier of the request. A client's own one stays. */
function nameRequest(request: FastifyRequest, digest: string): void {
  if (request.id === request.headers['x-request-id']) return;
  request.id = `req_${digest.slice(0, 24)}`;
}
