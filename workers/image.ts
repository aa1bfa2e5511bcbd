/**
 * The thread's door: a job comes in, its operation runs over bytes in memory, a result goes out.
 * Nothing is thrown across it: what goes wrong with a file is that file's result.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import { Failure } from '../src/failure.ts';
import type { FileError, Job, JobResult } from '../src/operations/job.ts';
import type { Limits } from '../src/operations/limits.ts';
import { type FileErrorCode, fileFailure, type SharpFactory } from '../src/operations/operation.ts';
import { findOperation } from '../src/operations/registry.ts';

/** Loaders that read from memory. By path libvips would parse options out of a file's name. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map(
  (name) => `VipsForeignLoad${name}Buffer`,
);

/** How far the fence below is, for all threads of the process: a pool hands each the same memory. */
const fence = new Int32Array(
  (workerData as { readonly fence?: SharedArrayBuffer } | null)?.fence ?? new SharedArrayBuffer(4),
);
const FENCE = { open: 0, closing: 1, closed: 2 } as const;

/**
 * Blocks every loader but ours. The switches belong to the process, and between the two calls
 * nothing loads: a second thread that repeated them would make a healthy image of the first one
 * look damaged. So one does it, and the others wait for that moment.
 */
function closeFence(sharp: SharpFactory): void {
  const first = Atomics.compareExchange(fence, 0, FENCE.open, FENCE.closing) === FENCE.open;
  // A thread may be ended at any instant, even there; then another does it again.
  if (!first && Atomics.wait(fence, 0, FENCE.closing, 1000) !== 'timed-out') return;
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS });
  Atomics.store(fence, 0, FENCE.closed);
  Atomics.notify(fence, 0);
}

let loaded: SharpFactory | undefined;

/**
 * sharp, fenced to the formats that Oriel reads. Loaded at its first use, and as CommonJS because
 * that takes half the time of its ES module (27 against 50 ms), which one small file would notice.
 */
function loadSharp(): SharpFactory {
  if (loaded) return loaded;
  const sharp = createRequire(import.meta.url)('sharp') as SharpFactory;
  // A file is the unit of parallel work, so more threads within one only add memory and switching.
  sharp.concurrency(1);
  sharp.cache(false);
  closeFence(sharp);
  loaded = sharp;
  return sharp;
}

function allowSvg({ svg }: Limits): void {
  const sharp = loadSharp();
  const operation = ['VipsForeignLoadSvgBuffer'];
  if (svg) sharp.unblock({ operation });
  else sharp.block({ operation });
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'too many symbolic links',
};

/**
 * Reads a whole regular file. Size and kind are asked of the open file, so that a file swapped
 * meanwhile cannot slip past the limit, and without blocking, since opening a pipe would wait.
 */
function readInput(path: string, limits: Limits): Uint8Array {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = fstatSync(descriptor);
    if (!stat.isFile())
      throw fileFailure('processing_failed', 'cannot be read: not a regular file');
    checkFileSize(stat.size, limits);
    const bytes = new Uint8Array(stat.size);
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, null);
      if (count === 0) break;
      length += count;
    }
    return length === bytes.length ? bytes : bytes.subarray(0, length);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw fileFailure(
      'processing_failed',
      `cannot be read: ${READ_FAILURES[code] ?? message}`,
      error,
    );
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function checkFileSize(size: number, { fileBytes }: Limits): void {
  if (size > fileBytes) {
    const megabytes = (bytes: number) => Number((bytes / 1024 / 1024).toFixed(1));
    throw fileFailure(
      'file_too_large',
      `${megabytes(size)} MB (${size} bytes), more than the limit of ${megabytes(fileBytes)} MB`,
    );
  }
}

function fileError(error: unknown): FileError {
  if (error instanceof Failure && error.code !== null) {
    return { code: error.code as FileErrorCode, message: error.message };
  }
  // Decoders and encoders may say much; their first line is what they failed of.
  const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return { code: 'processing_failed', message };
}

/** Runs one job in this thread, whichever thread that is. Never rejects. */
export async function perform({
  operation: name,
  options,
  source,
  limits,
}: Job): Promise<JobResult> {
  let originalSize = 0;
  try {
    const operation = findOperation(name);
    if (!operation) throw new Failure('unknown', `no operation is called ${name}`);
    const bytes = 'path' in source ? readInput(source.path, limits) : source.bytes;
    originalSize = bytes.byteLength;
    checkFileSize(originalSize, limits);
    const input = {
      bytes,
      limits,
      get sharp() {
        allowSvg(limits);
        return loadSharp();
      },
    };
    const { image, data, warnings = [] } = await operation.run(input, options as never);
    const sha256 = image && createHash('sha256').update(image.bytes).digest('hex');
    return {
      ok: true,
      originalSize,
      warnings,
      ...(image && sha256 && { image: { ...image, sha256 } }),
      ...(data && { data }),
    };
  } catch (error) {
    return { ok: false, originalSize, error: fileError(error) };
  }
}

/** What a pool's thread calls: the outputs' bytes are moved to the caller rather than copied. */
export default async function run(job: Job): Promise<JobResult> {
  const result = await perform(job);
  if (!result.ok || !result.image) return result;
  // Not at the top: the main thread uses this file too, and has nowhere to move anything to.
  const { move, transferableSymbol, valueSymbol } = await import('piscina');
  const { buffer } = result.image.bytes;
  return move({ [transferableSymbol]: [buffer], [valueSymbol]: result } as never) as never;
}
