import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import type { Job, JobFailure, JobResult } from './job.ts';
import type { FileErrorCode } from './operation.ts';

/** Something that performs image jobs. */
export interface ImagePool {
  /** How many jobs it performs at once. */
  readonly size: number;
  /**
   * Performs one job. Whatever goes wrong with it, its deadline and the death of its thread
   * included, is its result. There is no way to call a job back: libvips cannot be stopped midway.
   */
  run(job: Job): Promise<JobResult>;
  /** Ends the threads without waiting for jobs under way. */
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Threads; the processor's cores where not given. */
  readonly threads?: number;
  /** The built file that a thread runs, for tests that need one which misbehaves. */
  readonly worker?: string;
}

function failed(code: FileErrorCode, message: string): JobFailure {
  return { ok: false, originalSize: 0, error: { code, message } };
}

function overdue({ limits }: Job): JobFailure {
  return failed('timeout', `not done within ${Number((limits.deadline / 1000).toFixed(3))} s`);
}

function workerFile(): string {
  return createRequire(import.meta.url).resolve('#workers/image.js');
}

/** Memory in which the threads of all pools agree on which of them does what is done once. */
const workerData = { fence: new SharedArrayBuffer(4) };

/** Starts a thread for each core; they stay until the pool is closed. */
export async function startPool({
  threads = availableParallelism(),
  worker = workerFile(),
}: PoolOptions = {}): Promise<ImagePool> {
  const { Piscina } = await import('piscina');
  const piscina = new Piscina({
    filename: worker,
    workerData,
    // With a minimum of all, Piscina starts the successor of a thread that died or was given up
    // at once, while native code may still hold on to the old one.
    minThreads: threads,
    maxThreads: threads,
    // Waiting on a lock between jobs would keep a thread from noticing anything else.
    atomics: 'disabled',
  });
  // A thread that dies between jobs is replaced; there is no job whose result could say so.
  piscina.on('error', () => {});

  // Jobs wait here rather than in Piscina, which does not tell when it starts one.
  const waiting: (() => void)[] = [];
  let free = threads;

  return {
    size: threads,
    async run(job) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      // Aborting a job under way is how Piscina gives up its thread.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), job.limits.deadline);
      const bytes = 'bytes' in job.source ? job.source.bytes : undefined;
      try {
        return (await piscina.run(job, {
          signal: late.signal,
          ...(bytes && { transferList: [bytes.buffer as ArrayBuffer] }),
        })) as JobResult;
      } catch (error) {
        if (late.signal.aborted) return overdue(job);
        const reason = error instanceof Error ? error.message : String(error);
        return failed('worker_crashed', `the thread died while working on this file: ${reason}`);
      } finally {
        clearTimeout(timer);
        const next = waiting.shift();
        if (next) next();
        else free += 1;
      }
    },
    close: () => piscina.destroy(),
  };
}

/**
 * Performs jobs on the calling thread. sharp's own work runs on libuv's threads in any case, so
 * for a file or two, starting threads with a decoder each would cost more than it gives.
 */
export async function inlinePool(): Promise<ImagePool> {
  const file = pathToFileURL(workerFile()).href;
  const { perform } = (await import(file)) as typeof import('#workers/image.js');
  return {
    size: 1,
    async run(job) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<JobResult>((resolve) => {
        timer = setTimeout(() => resolve(overdue(job)), job.limits.deadline);
      });
      try {
        return await Promise.race([perform(job), late]);
      } finally {
        clearTimeout(timer);
      }
    },
    close: async () => {},
  };
}
