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

const NO_HOST = 'the request has no Host header';
const TWO_HOSTS = 'the request has more than one Host header';

const CODINGS = /\b(?:gzip|deflate|br|zstd|compress)\b/i;

/** Refuses compressed bodies, which no endpoint decodes (RFC 9110, section 15.5.16). */
export function refuseCompressedBodies(server: FastifyInstance): void {
  server.addHook('onRequest', ({ headers }, reply, next) => {
    const [coding] = CODINGS.exec(headers['content-encoding'] ?? '') ?? [];
    if (coding === undefined) return next();
    reply.header('accept-encoding', 'identity');
    const message = `Content-Encoding: ${coding} is not supported; send the body uncompressed`;
    next(codedFailure('unsupported_media_type', message));
  });
}

/**
 * Refuses requests with two Host headers, or none in HTTP/1.1 (RFC 9112, section 3.2). Node uses the first
 * one; a proxy in front may have routed by the second.
 */
export function requireOneHost(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw: { rawHeaders, httpVersion } }, reply, next) => {
    let hosts = 0;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index]!;
      if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    }
    if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return next();
    // The next requests on this connection may be for another server.
    reply.header('connection', 'close');
    next(codedFailure('malformed_request', hosts === 0 ? NO_HOST : TWO_HOSTS));
  });
}
