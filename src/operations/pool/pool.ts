import { statSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { pathToFileURL } from 'node:url';
import type { FileErrorCode } from '../../error-codes.ts';
import { valueOr } from '../../flow.ts';
import {
  type JobContext as ThreadContext,
  ThreadLostError,
  type ThreadStatistics,
  Threads,
  workerFile,
} from '../../threads/threads.ts';
import type { Job, JobFailure, JobResult, Source } from '../definition/job.ts';

/** The client and the abort signal of a job. */
export interface JobContext extends ThreadContext {
  /** Jobs of the client that may wait already; with more, `run` throws a Failure. */
  readonly maxWaiting?: number;
}

/** Runs image jobs in threads or processes. */
export interface ImagePool {
  /** Jobs at once. */
  readonly size: number;
  /**
   * Runs one job. Its result is a failure where it misses its deadline or its thread or process dies.
   * A job that still waits when its signal aborts never starts, and the promise rejects with the
   * reason. A thread finishes a job that it began, since libvips cannot be stopped midway; a process
   * may be killed.
   */
  run(job: Job, context?: JobContext): Promise<JobResult>;
  /** Gives up jobs in progress; resolves when none of them runs native code any more. */
  close(): Promise<void>;
}

/** A view of a pool that adds one client's context to each job. */
export function clientPool(
  pool: ImagePool,
  context: JobContext & { readonly client: string },
): ImagePool {
  return {
    size: pool.size,
    run: (job, own) => pool.run(job, { ...context, ...own }),
    close: () => pool.close(),
  };
}

/** Jobs of one account that may wait in requests that can be refused. */
export const MAX_WAITING = 256;

/** A pool that is made for one batch. */
export interface BatchPool extends ImagePool {
  /** Whether a job missed its deadline: its native code may still run, and `close` waits for it. */
  readonly abandoned: boolean;
}

/** A pool that clients share for the lifetime of the daemon. */
export interface SharedPool extends ImagePool {
  statistics(): ThreadStatistics;
  /**
   * Checks whether a new client's job would start.
   *
   * @returns null where it starts within the timeout, else the reason why not
   */
  probe(timeoutMs: number): Promise<string | null>;
}

export interface PoolOptions {
  /** Threads; the processor's cores where not given. */
  readonly threads?: number;
  /** The built file that a thread runs; tests replace it. */
  readonly worker?: string;
}

/** A pool of threads, for one batch. */
export type ThreadPool = BatchPool & Pick<SharedPool, 'statistics'>;

/** Bytes; 0 where `stat` fails, for which reading the file will give the reason. */
export function sizeOf(source: Source): number {
  if ('bytes' in source) return source.bytes.byteLength;
  return valueOr(() => statSync(source.path).size, 0);
}

export function failed(originalSize: number, code: FileErrorCode, message: string): JobFailure {
  return { ok: false, originalSize, error: { code, message } };
}

export function timedOut(originalSize: number, { limits }: Job): JobFailure {
  const seconds = Number((limits.deadline / 1000).toFixed(3));
  return failed(originalSize, 'timeout', `not done within ${seconds} s`);
}

/** Memory shared by the threads of all pools, by which one of them initialises libvips for all. */
const workerData = { blockState: new SharedArrayBuffer(4) };

/** Starts a thread for each core. They run until the pool is closed. */
export async function startPool({
  threads: size = availableParallelism(),
  worker = workerFile('image'),
}: PoolOptions = {}): Promise<ThreadPool> {
  const threads = new Threads({ file: worker, threads: size, workerData });
  await threads.start();
  let abandoned = false;
  return {
    size,
    async run(job, context) {
      const bytes = 'bytes' in job.source ? job.source.bytes : undefined;
      // Bytes are moved to the thread: afterwards their length is 0 here.
      const moved = bytes?.byteLength;
      const originalSize = () => moved ?? sizeOf(job.source);
      try {
        const { deadline } = job.limits;
        const transferList = bytes ? [bytes.buffer as ArrayBuffer] : [];
        const { operation: name } = job;
        return (await threads.run(
          { name, input: job, deadline, transferList },
          context,
        )) as JobResult;
      } catch (error) {
        if (!(error instanceof ThreadLostError)) throw error;
        if (error.isTimeout) {
          abandoned = true;
          return timedOut(originalSize(), job);
        }
        const message = `the thread died while working on this file: ${error.message}`;
        return failed(originalSize(), 'worker_crashed', message);
      }
    },
    get abandoned() {
      return abandoned;
    },
    statistics: () => threads.statistics(),
    close: () => threads.close(),
  };
}

/**
 * Runs jobs on the calling thread, several at once. sharp's own work runs on libuv's threads in any
 * case, so for a little work, starting threads with a decoder each would take longer than it saves.
 *
 * @param size jobs at once
 */
export async function inlinePool(size: number): Promise<BatchPool> {
  const file = pathToFileURL(workerFile('image')).href;
  const { runJob } = (await import(file)) as typeof import('#workers/image.js');
  const inProgress = new Set<Promise<JobResult>>();
  let abandoned = false;
  return {
    size,
    get abandoned() {
      return abandoned;
    },
    async run(job) {
      const result = runJob(job);
      inProgress.add(result);
      void result.then(() => inProgress.delete(result));
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<JobResult>((resolve) => {
        timer = setTimeout(() => {
          abandoned = true;
          resolve(timedOut(sizeOf(job.source), job));
        }, job.limits.deadline);
      });
      try {
        return await Promise.race([result, timeout]);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      await Promise.all(inProgress);
    },
  };
}

/** Bytes that the container may use, whose limit Node gives as 0 or a huge number if it has none (cgroup v1 or v2). */
export const containerMemory = () => Math.min(process.constrainedMemory() || Infinity, totalmem());

/** CPU milliseconds of work below which starting threads (80 ms each) costs more than 3 %. */
const LITTLE_WORK = 5000;
/** CPU milliseconds of one file from which on passing it to a thread and back (0.5 ms) pays. */
const LARGE_FILE = 10;
/** CPU milliseconds that the calling thread itself spends on a file, which limits its throughput. */
const OWN_SHARE = 0.5;

/** Bytes for each large file in progress: 12 megapixels take 300 MB as AVIF and 100 MB as WebP. */
const LARGE_FILE_BYTES = 384e6;

/** Files in progress beyond the cores, which keep them busy while results of small files are written. */
const SPARE = 2;

/**
 * Chooses the faster pool for a batch: threads, or the calling thread alone.
 *
 * @param work estimate by the operation's cost
 * @param jobs files at once; where not given, the processor's cores or, if that is less, the large files that fit the memory
 */
export async function poolFor(
  work: { readonly milliseconds: number; readonly files: number },
  jobs: number | undefined,
): Promise<BatchPool> {
  const files = Math.max(1, work.files);
  const each = work.milliseconds / files;
  const large = each > LARGE_FILE;
  const fitting = large ? Math.max(1, Math.floor(containerMemory() / LARGE_FILE_BYTES)) : files;
  const atOnce = Math.min(jobs ?? Math.min(availableParallelism(), fitting), files);
  if (work.milliseconds > LITTLE_WORK && (large || each / atOnce < OWN_SHARE)) {
    return startPool({ threads: atOnce });
  }
  return inlinePool(large || jobs !== undefined ? atOnce : Math.min(atOnce + SPARE, files));
}
