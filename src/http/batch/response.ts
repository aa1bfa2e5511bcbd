import { once } from 'node:events';
import { parse } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { checkFileSize, DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import { Batch } from '../../operations/batch/batch.ts';
import type { BatchResult, FileRecord } from '../../operations/batch/batch-record.ts';
import type { BatchInput } from '../../operations/batch/process-files.ts';
import type { SetOperation } from '../../operations/batch/set.ts';
import { type BatchZip, createZip } from '../../operations/batch/zip.ts';
import type { JobImage, NamedImages } from '../../operations/definition/job.ts';
import type { AppContext } from '../request/app-context.ts';
import { readTags } from '../request/tags.ts';
import { abortable } from '../transport/client-disconnect.ts';
import type { FormFile } from '../uploads/form.ts';

/** A batch whose files have arrived and whose options are valid. */
export interface HttpBatch {
  readonly operation: SetOperation;
  /** The endpoint's name, by which usage is recorded. */
  readonly endpoint: string;
  /** Checked options, and those of jobs, which are made of them. */
  readonly given: unknown;
  readonly options: unknown;
  /** Uploads of the images that options refer to. */
  readonly images: NamedImages | undefined;
  readonly files: readonly FormFile[];
}

/**
 * Runs a batch and sends its result: images as a ZIP while the batch runs, data as one document at
 * the end, which is returned for the caller to send.
 *
 * @param signal aborts when the client disconnects; no further file is started then
 */
export async function sendBatch(
  { operation, endpoint, given, options, images, files }: HttpBatch,
  context: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<BatchResult | undefined> {
  const { config, pool, store, metrics } = context;
  const { key, account } = request.holder;
  const tags = readTags(request);
  const settle = async (outputs: number) => {
    const metered = { model: endpoint, charge: 0, counts: { requests: 1, outputs }, tags };
    try {
      await store.settle({ accountId: account.id, keyId: key.id }, metered);
    } catch (error) {
      // The response is already being sent; an error in the record of its use must not end it.
      const { id: requestId } = request;
      request.log.error({ err: error, requestId }, 'a batch request was not recorded in the usage');
    }
  };

  const run = async (zip?: BatchZip): Promise<BatchResult> => {
    const limits = limitsOf(config.batch);
    const bytesAhead = config.batch.memory / config.batch.concurrency;
    const results: FileRecord[] = [];
    const { set } = operation;
    const each = set ? { name: set.each } : operation;
    const kept = new Map<number, JobImage>();
    const job = { limits, source: { bytes: new Uint8Array() } };
    const batch = new Batch(
      files.map((file, index) => ({
        ...inputOf(file, limits),
        variables: variablesOf(index, file),
      })),
      { operation: each, options, images, limits, pool, client: account.id, signal, bytesAhead },
      {
        ...(zip && {
          append: async (image, { filename }, index) => {
            if (!set?.gathers) {
              return { outputFilename: await abortable(zip.add(filename, image, index), signal) };
            }
            kept.set(index, image);
            return {};
          },
        }),
        add: async (record) => {
          results.push(record);
        },
      },
    );
    let added: object | undefined;
    try {
      await batch.run();
      added = await set?.finish(
        {
          ...{ results, images: kept },
          run: (one) => pool.run({ ...job, ...one }, { client: account.id, signal }),
          addImage: (name, image) => {
            // The images that it is made of are not sent.
            batch.summary.outputBytes = image.bytes.byteLength;
            return abortable(zip!.add(name, image, 0), signal);
          },
          addFile: (name, bytes) => abortable(zip!.addFile(name, Buffer.from(bytes)), signal),
        },
        given as never,
      );
    } finally {
      const outcome = signal.aborted ? 'abandoned' : 'completed';
      metrics.batches.inc({ endpoint, outcome });
      await settle(batch.summary.outputs);
    }
    return {
      requestId: request.id,
      operation: operation.name,
      status: 'completed',
      summary: batch.summary.totals(operation.gives),
      results,
      ...added,
    };
  };

  if (operation.gives === 'data') return run();
  await sendZip(reply, endpoint, signal, async (zip) => {
    await abortable(zip.finish(await run(zip), operation.set ? given : options), signal);
  });
  return undefined;
}

/** Limits of an image by the settings. */
export function limitsOf(batch: AppContext['config']['batch']): Limits {
  const { pixels, frames, side, deadline, svg, programs } = batch;
  const { fileBytes } = DEFAULT_LIMITS;
  const svgSwitch = "the operator's setting batch.svg";
  return { fileBytes, pixels, frames, side, deadline, svg, svgSwitch, programs };
}

function variablesOf(index: number, { filename }: FormFile) {
  // Both slashes on every system, because the client may run on another one.
  return { name: parse(filename.split(/[/\\]/).at(-1) || 'image').name, index: index + 1 };
}

function inputOf({ filename, size, path }: FormFile, limits: Limits): BatchInput {
  if (path !== null) return { filename, source: { path } };
  return { filename, source: { bytes: new Uint8Array() }, knownRecord: tooLarge(size, limits) };
}

function tooLarge(size: number, limits: Limits): NonNullable<BatchInput['knownRecord']> {
  try {
    checkFileSize(size, limits);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, message } = error;
    return { status: 'failed', originalSize: size, error: { code: code!, message } };
  }
  throw new Error(`an upload of ${size} bytes was not kept`);
}

/** Bytes of a chunk, so small that a slow client makes progress within `server.sendTimeout`. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Sends a ZIP while it is being filled. Resolves when the response has ended. After an error the
 * connection ends without the last chunk, so that clients detect the truncation.
 *
 * @param signal aborts when the client disconnects
 * @param fill adds the files and finishes the archive; if it throws, the response ends early
 */
async function sendZip(
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
