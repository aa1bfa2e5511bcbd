import type { FastifyInstance } from 'fastify';

/**
 * Sends `100 Continue` only once the request has passed the hooks before its body, so that the client of
 * a refused request does not send the body (RFC 9110, section 10.1.1).
 */
export function continueAfterHooks(server: FastifyInstance): void {
  // Node answers other expectations itself, with an empty 417; a server may also ignore them.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.server.on(event, (request, response) => {
      server.server.emit('request', request, response);
    });
  }
  server.addHook('preParsing', (request, reply, _payload, next) => {
    const { expect } = request.headers;
    const waits = expect !== undefined && /^100-continue$/i.test(expect);
    if (waits && !request.is404) reply.raw.writeContinue();
    next();
  });
}
