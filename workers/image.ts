/**
 * The thread's door: a job comes in, its operation runs over bytes in memory, a result goes out.
 * Nothing is thrown across it: what goes wrong with a file is that file's result.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { FileErrorCode } from '../src/error-codes.ts';
import { Failure } from '../src/failure.ts';
import { diagnose } from '../src/images/diagnosis.ts';
import type { Estimate } from '../src/images/input.ts';
import { checkFileSize } from '../src/images/limits.ts';
import { completePng } from '../src/images/png.ts';
import type { Job, JobResult } from '../src/operations/job.ts';
import type { ThreadOperation } from '../src/operations/operation.ts';
import { findOperation } from '../src/operations/registry.ts';
import { loadDecoder } from './decoder.ts';
import { type OpenSource, openSource } from './source.ts';

/** CommonJS takes half the time of an ES module to load, and the pool has loaded half of it. */
const require = createRequire(import.meta.url);

/** Loaded at its first use: the command line never asks for any. */
async function findInternal(name: string): Promise<ThreadOperation<never> | undefined> {
  const { INTERNAL_OPERATIONS } = await import('../src/operations/internal.ts');
  return INTERNAL_OPERATIONS.find((operation) => operation.name === name);
}

/** Thrown out of an operation that would need more than it may take here. */
export class ExceedsGrant extends Error {
  readonly estimate: Estimate;

  constructor(estimate: Estimate) {
    super('the job needs more than it was granted');
    this.estimate = estimate;
  }
}

/**
 * Runs one job in this thread, whichever thread that is.
 *
 * @param admit may throw ExceedsGrant, with which alone the promise is rejected
 */
export async function perform(
  job: Job,
  admit: (estimate: Estimate) => void = () => {},
): Promise<JobResult> {
  const { limits } = job;
  const input = {
    file: new Uint8Array() as Uint8Array,
    bytes: new Uint8Array() as Uint8Array,
    limits,
    admit,
    get sharp() {
      return loadDecoder(limits);
    },
  };
  let source: OpenSource | undefined;
  try {
    const operation = findOperation(job.operation) ?? (await findInternal(job.operation));
    if (!operation) throw new Failure('unknown', `no operation is called ${job.operation}`);
    source = openSource(job.source);
    checkFileSize(source.size, limits);
    input.file = source.read();
    input.bytes = completePng(input.file);
    const { image, data, warnings = [] } = await operation.run(input, job.options as never);
    const sha256 = image && createHash('sha256').update(image.bytes).digest('hex');
    return {
      ok: true,
      originalSize: source.size,
      warnings,
      ...(image && sha256 && { image: { ...image, sha256 } }),
      ...(data && { data }),
    };
  } catch (error) {
    if (error instanceof ExceedsGrant) throw error;
    const { code, message } = await diagnose(error, input);
    const known = (code ?? 'processing_failed') as FileErrorCode;
    return { ok: false, originalSize: source?.size ?? 0, error: { code: known, message } };
  } finally {
    source?.close();
  }
}

/** What a pool's thread calls: the output's bytes are moved to the caller. */
export default async function run(job: Job): Promise<JobResult> {
  const result = await perform(job);
  if (!result.ok || !result.image) return result;
  // sharp's memory cannot leave its thread; memory of our own can.
  const bytes = new Uint8Array(result.image.bytes);
  const moved: JobResult = { ...result, image: { ...result.image, bytes } };
  // Not at the top: the main thread uses this file too, and has nowhere to move anything to.
  const { move, transferableSymbol, valueSymbol } = require('piscina') as typeof import('piscina');
  return move({ [transferableSymbol]: [bytes.buffer], [valueSymbol]: moved } as never) as never;
}
