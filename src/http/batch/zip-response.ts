import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type BatchZip, createZip } from '../../operations/zip.ts';

/** Bytes in which the archive is offered, so that a slow reader is not taken for a dead one. */
const PIECE = 64 * 1024;

/**
 * Answers with a ZIP that is sent while it is still being filled. Resolves when the answer has come
 * to its end, whatever that was: one that is cut short ends its connection without the last chunk,
 * so that no client takes it for whole.
 *
 * @param signal aborts when the client disconnects
 * @param fill adds the files and finishes the archive; what it throws cuts the answer short
 */
export async function answerWithZip(
  reply: FastifyReply,
  filename: string,
  signal: AbortSignal,
  fill: (zip: BatchZip) => Promise<void>,
): Promise<void> {
  const zip = await createZip();
  const { stream } = zip;
  // Whoever reads it hears of errors; once nobody reads any more, nobody need.
  stream.on('error', () => {});
  const filled = fill(zip).catch((error: Error) => {
    // Where nothing was sent yet, it is answered and logged like any other failure.
    if (!signal.aborted && reply.raw.headersSent) {
      reply.log.error({ err: error }, 'a defect, please report it');
    }
    stream.destroy(error);
  });
  const body = Readable.from(pieces(stream), { objectMode: false, highWaterMark: PIECE });
  const abandon = () => {
    stream.destroy(signal.reason);
    // With its reason, before Fastify does it without one and takes that for a defect.
    body.destroy(signal.reason);
  };
  if (signal.aborted) abandon();
  signal.addEventListener('abort', abandon);
  const closed = once(body, 'close').catch(() => {});
  reply.type('application/zip');
  reply.header('content-disposition', `attachment; filename="${filename}.zip"`);
  reply.send(body);
  await closed;
  await filled;
  signal.removeEventListener('abort', abandon);
}

async function* pieces(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length; start += PIECE) {
      yield chunk.subarray(start, start + PIECE);
    }
  }
}
