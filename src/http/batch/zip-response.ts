import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type BatchZip, createZip } from '../../operations/batch/zip.ts';

/** Bytes of a chunk, so small that a slow client makes progress within `server.sendTimeout`. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Sends a ZIP while it is being filled. Resolves when the response has ended. After an error the
 * connection ends without the last chunk, so that clients detect the truncation.
 *
 * @param signal aborts when the client disconnects
 * @param fill adds the files and finishes the archive; if it throws, the response ends early
 */
export async function sendZip(
  reply: FastifyReply,
  filename: string,
  signal: AbortSignal,
  fill: (zip: BatchZip) => Promise<void>,
): Promise<void> {
  const zip = await createZip();
  const { stream } = zip;
  // The reader gets errors; without a reader, an error without a listener would end the process.
  stream.on('error', () => {});
  const filled = fill(zip).catch((error: Error) => {
    // Before the headers are sent, the error handler sends and logs the error.
    if (!signal.aborted && reply.raw.headersSent) {
      reply.log.error({ err: error, requestId: reply.request.id }, 'a defect, please report it');
    }
    stream.destroy(error);
  });
  const body = Readable.from(chunksOf(stream), { objectMode: false, highWaterMark: CHUNK_BYTES });
  const onAbort = () => {
    stream.destroy(signal.reason);
    // With the reason: Fastify would destroy it without one and log a defect.
    body.destroy(signal.reason);
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  const closed = once(body, 'close').catch(() => {});
  reply.type('application/zip');
  reply.header('content-disposition', `attachment; filename="${filename}.zip"`);
  reply.send(body);
  await closed;
  await filled;
  signal.removeEventListener('abort', onAbort);
}

async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES) {
      yield chunk.subarray(start, start + CHUNK_BYTES);
    }
  }
}
