import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { checkFileSize, DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import type { OutputImage } from '../../images/output.ts';
import {
  type BatchInput,
  type BatchResult,
  BatchSummary,
  type FileRecord,
  runBatch,
} from '../../operations/batch.ts';
import type { Operation } from '../../operations/operation.ts';
import type { AppContext } from '../app-context.ts';
import { abortable } from '../transport/client-disconnect.ts';
import type { FormFile } from '../uploads/form.ts';
import { answerWithZip } from './zip-response.ts';

/** A batch whose files have arrived and whose options are good. */
export interface HttpBatch {
  readonly operation: Operation;
  /** The endpoint's name, under which its use is recorded. */
  readonly endpoint: string;
  readonly options: unknown;
  readonly files: readonly FormFile[];
}

/**
 * Works a batch off and answers it: images as a ZIP that is sent meanwhile, data as one document at
 * the end, which is given back to be sent.
 *
 * @param signal aborts when the client disconnects; no further file is started then
 */
export async function answerBatch(
  { operation, endpoint, options, files }: HttpBatch,
  context: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<BatchResult | undefined> {
  const { config, pool, store, metrics } = context;
  const { key, account } = request.holder;
  const summary = new BatchSummary();
  const results: FileRecord[] = [];

  const settle = async () => {
    const counts = { requests: 1, outputs: summary.succeeded };
    const metered = { model: endpoint, charge: 0, counts };
    try {
      await store.settle({ accountId: account.id, keyId: key.id }, metered);
    } catch (error) {
      // The work is done, and the answer on its way: that the use is not recorded must not undo it.
      request.log.error({ err: error }, 'the use of a batch endpoint was not recorded');
    }
  };

  const work = async (
    keep?: (inputFilename: string, image: OutputImage) => Promise<string>,
  ): Promise<BatchResult> => {
    const limits = limitsOf(config.batch);
    const entries = runBatch(
      files.map((file) => inputOf(file, limits)),
      {
        operation,
        options,
        limits,
        pool,
        client: account.id,
        signal,
        bytesAhead: config.batch.memory / config.batch.concurrency,
      },
    );
    try {
      for await (const { record, image } of entries) {
        signal.throwIfAborted();
        const outputFilename = image && (await keep?.(record.inputFilename, image));
        const whole = outputFilename === undefined ? record : { ...record, outputFilename };
        summary.add(whole);
        results.push(whole);
      }
      signal.throwIfAborted();
    } finally {
      metrics.observeBatch(endpoint, signal.aborted ? 'abandoned' : 'completed');
      await settle();
    }
    return {
      requestId: request.id,
      operation: operation.name,
      status: 'completed',
      summary: summary.totals(operation.gives),
      results,
    };
  };

  if (operation.gives === 'data') return work();
  await answerWithZip(reply, endpoint, signal, async (zip) => {
    const result = await work((name, image) => abortable(zip.add(name, image), signal));
    await abortable(zip.finish(result, options), signal);
  });
  return undefined;
}

function limitsOf({ pixels, frames, side, deadline, svg }: AppContext['config']['batch']): Limits {
  const { fileBytes } = DEFAULT_LIMITS;
  const svgSwitch = "the operator's setting batch.svg";
  return { fileBytes, pixels, frames, side, deadline, svg, svgSwitch };
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
