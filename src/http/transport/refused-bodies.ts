import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Milliseconds for which the rest of a body is discarded. */
const TOTAL_TIMEOUT_MS = 30_000;
/** Milliseconds without a byte after which discarding ends. */
const IDLE_TIMEOUT_MS = 5_000;
/** Bytes of a body that are discarded. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Lets a response that is sent before the request's body has arrived reach clients that read only after
 * sending. If the connection were closed at once, the kernel would answer the rest of the body with a
 * reset, on which the client discards the response (RFC 9112, section 9.6). So the response is sent with
 * `connection: close`, and the rest of the body is read and discarded for a while.
 */
export function lingerAfterRefusals(server: FastifyInstance): void {
  server.addHook('onSend', (request, reply, payload, next) => {
    if (typeof payload !== 'string' || !isArriving(request)) {
      next(null, payload);
      return;
    }
    reply.header('connection', 'close');
    reply.header('content-length', Buffer.byteLength(payload));
    next(null, Readable.from(sendThenDiscard(payload, request.raw), { objectMode: false }));
  });
}

function isArriving({ raw, headers }: FastifyRequest): boolean {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || raw.complete) return false;
  // A client that expects 100-continue does not send the body of a refused request.
  const unsent = headers.expect !== undefined && !raw.readableDidRead && raw.readableLength === 0;
  return !unsent;
}

async function* sendThenDiscard(payload: string, body: IncomingMessage): AsyncGenerator<Buffer> {
  yield Buffer.from(payload);
  await discard(body);
}

function discard(body: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const done = () => {
      clearTimeout(total);
      clearTimeout(idle);
      resolve();
    };
    const total = setTimeout(done, TOTAL_TIMEOUT_MS);
    const idle = setTimeout(done, IDLE_TIMEOUT_MS);
    body.on('data', (chunk: Buffer) => {
      idle.refresh();
      bytes += chunk.length;
      if (bytes > MAX_BYTES) done();
    });
    body.once('end', done);
    body.once('close', done);
    body.once('error', done);
    body.unpipe();
    body.resume();
    if (body.destroyed || body.readableEnded) done();
  });
}

/**
 * Sends `100 Continue` only once the request has passed the hooks before its body, so that the client of
 * a refused request does not send the body (RFC 9110, section 10.1.1).
 */
export function sendContinueAfterHooks(server: FastifyInstance): void {
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
