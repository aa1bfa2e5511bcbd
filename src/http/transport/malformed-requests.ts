import type { Socket } from 'node:net';
import { Failure } from '../../failure.ts';
import { bodyOf } from '../errors.ts';
import { jsonLine } from '../json-line.ts';

const BROKEN: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are larger than 16 KB', 'headers_too_large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time', 'request_timeout'],
  '': [400, 'this is not a valid HTTP request', 'malformed_request'],
};

/** Answers bytes that are no HTTP request, which never reach a route. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, code] = BROKEN[error.code ?? ''] ?? BROKEN['']!;
  const failure = new Failure('invalid_request', reason, { code, status });
  const body = jsonLine(bodyOf(failure));
  socket.end(
    `HTTP/1.1 ${status} ${code}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
