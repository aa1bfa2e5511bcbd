import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Milliseconds for which what still arrives is thrown away: in all, and with no byte arriving. */
const LONGEST = 30_000;
const LONGEST_SILENCE = 5_000;
/** Bytes that are thrown away at the most. */
const MOST = 256 * 1024 * 1024;

/**
 * Answers that come before a body has arrived reach clients that send first and read then. Were the
 * connection just closed, the system would answer the rest of the body with a reset, which wipes
 * the answer out of the client's hands (RFC 9112, section 9.6). So the answer is written whole, the
 * connection told to be at its end, and the rest read and thrown away for a while before it is.
 */
export function lingerAfterRefusals(server: FastifyInstance): void {
  server.addHook('onSend', (request, reply, payload, next) => {
    if (typeof payload !== 'string' || !isArriving(request)) {
      next(null, payload);
      return;
    }
    reply.header('connection', 'close');
    reply.header('content-length', Buffer.byteLength(payload));
    next(null, Readable.from(answerThenDiscard(payload, request.raw), { objectMode: false }));
  });
}

function isArriving({ raw, headers }: FastifyRequest): boolean {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || raw.complete) return false;
  // Who asked whether to send the body and is told no does not send it.
  const unsent = headers.expect !== undefined && !raw.readableDidRead && raw.readableLength === 0;
  return !unsent;
}

async function* answerThenDiscard(payload: string, body: IncomingMessage): AsyncGenerator<Buffer> {
  yield Buffer.from(payload);
  await discard(body);
}

function discard(body: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const done = () => {
      clearTimeout(longest);
      clearTimeout(silence);
      resolve();
    };
    const longest = setTimeout(done, LONGEST);
    const silence = setTimeout(done, LONGEST_SILENCE);
    body.on('data', (chunk: Buffer) => {
      silence.refresh();
      bytes += chunk.length;
      if (bytes > MOST) done();
    });
    body.once('end', done);
    body.once('close', done);
    body.once('error', done);
    body.unpipe();
    body.resume();
    if (body.destroyed || body.readableEnded) done();
  });
}
