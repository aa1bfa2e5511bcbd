import type { FastifyReply, FastifyRequest } from 'fastify';
import { bodyOf, reportFailure } from '../responses/errors.ts';
import { SseResponse } from './sse-response.ts';

/**
 * Sends server-sent events, and comments until the first of them. After a comment, a failure is an event;
 * within an event, it closes the connection.
 *
 * @param pieces of frames; a frame may come in several
 * @throws Failure before anything was sent
 */
export async function sendEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  pieces: AsyncIterable<string>,
): Promise<FastifyReply> {
  const stream = new SseResponse(reply);
  const { raw } = reply;
  let hasEvents = false;
  stream.keepAlive();
  try {
    for await (const piece of pieces) {
      if (!hasEvents) stream.endKeepAlive();
      hasEvents = true;
      if (!stream.write(piece)) await stream.drained();
      if (raw.destroyed) break;
    }
  } catch (error) {
    if (!stream.started) throw error;
    const failure = reportFailure(error, request);
    if (raw.destroyed) return reply;
    if (hasEvents) {
      // As Fastify does for streams: hooks do not run for a response that is cut.
      const line = { err: failure, requestId: request.id };
      request.log.warn(line, 'response terminated with an error with headers already sent');
      raw.destroy();
    } else {
      const body = { type: 'error', ...bodyOf(failure) };
      stream.write(`event: error\ndata: ${JSON.stringify(body)}\n\n`);
    }
  } finally {
    stream.end();
  }
  return reply;
}

/** A whole event. */
export function eventOf(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
