import type { FastifyInstance } from 'fastify';
import { Failure } from '../../failure.ts';

/**
 * Refuses requests with two Host headers (RFC 9112, section 3.2). Node uses the first one; a proxy in
 * front may have routed by the second.
 */
export function refuseSecondHost(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw: { rawHeaders } }, reply, next) => {
    let hosts = 0;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index]!;
      if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    }
    if (hosts <= 1) return next();
    // The next requests on this connection may be for another server.
    reply.header('connection', 'close');
    next(
      new Failure('invalid_request', 'the request has more than one Host header', {
        code: 'malformed_request',
      }),
    );
  });
}
