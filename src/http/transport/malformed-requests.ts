import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type CodeOf, codedFailure, Failure } from '../../failure.ts';
import { bodyOf, jsonLine } from '../responses/errors.ts';

type Reason = readonly [code: CodeOf<'invalid_request'>, message: string];

const MALFORMED: Reason = ['malformed_request', 'this is not a valid HTTP request'];

/** By the codes of Node's HTTP parser and server. */
const REASONS: Readonly<Record<string, Reason>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'the headers are larger than 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};

/** Answers bytes that are not a valid HTTP request, which never reach a route. */
export function answerMalformedRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, message] = REASONS[error.code ?? ''] ?? MALFORMED;
  const failure = new Failure('invalid_request', message, { code });
  const body = jsonLine(bodyOf(failure));
  socket.end(
    `HTTP/1.1 ${failure.status} ${code}\r\nConnection: close\r\n` +
      `Content-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

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
    next(codedFailure('malformed_request', 'the request has more than one Host header'));
  });
}
