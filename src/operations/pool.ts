import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import type { FileErrorCode } from '../error-codes.ts';
import type { Cancelled } from '../upstream/cancellation.ts';
import type { Job, JobFailure, JobResult, Source } from './job.ts';
import { Places } from './places.ts';

/** Whose job it is, where clients share a pool, and until when it is wanted. */
export interface Turn {
  /** Clients that wait are served fairly, whatever the number of their jobs. */
  readonly client?: string | undefined;
  readonly signal?: Cancelled | undefined;
  /** Jobs of the client that may wait already; with more, a Failure is thrown. */
  readonly mostWaiting?: number;
}

/** Something that performs image jobs. */
export interface ImagePool {
  /** How many jobs it performs at once. */
  readonly size: number;
  /**
   * Performs one job. Whatever goes wrong with it, its deadline and the death of its thread or
   * process included, is its result. One that still waits when its turn's signal is aborted never
   * starts: the reason is thrown. A thread finishes what it began, since libvips cannot be stopped
   * midway; a process may be killed.
   */
  run(job: Job, turn?: Turn): Promise<JobResult>;
  /** Gives up jobs under way, and resolves when no native code is left running in them. */
  close(): Promise<void>;
}

/** A pool all of whose jobs are one client's. */
export function clientPool(pool: ImagePool, turn: Turn & { readonly client: string }): ImagePool {
  return {
    size: pool.size,
    run: (job, own) => pool.run(job, { ...turn, ...own }),
    close: () => pool.close(),
  };
}

/** Jobs of one account that may wait where further requests of it can be refused. */
export const MOST_WAITING = 256;

/** A pool that is made for one batch. */
export interface BatchPool extends ImagePool {
  /** Whether a job was reported as overdue: its native code may still run, which `close` waits for. */
  readonly abandoned: boolean;
}

/** What a pool did and does. */
export interface PoolStatistics {
  readonly waiting: number;
  readonly running: number;
  /** By operation, since the start: jobs that ended, and the milliseconds that threads gave them. */
  readonly finished: ReadonlyMap<string, { readonly jobs: number; readonly milliseconds: number }>;
}

/** A pool that many clients share for long. */
export interface SharedPool extends ImagePool {
  statistics(): PoolStatistics;
  /**
   * Looks whether a newcomer's job would be begun.
   *
   * @param patience milliseconds to wait for it
   * @returns null where it would, else why not
   */
  probe(patience: number): Promise<string | null>;
}

export interface PoolOptions {
  /** Threads; the processor's cores where not given. */
  readonly threads?: number;
  /** The built file that a thread runs, for tests that need one which misbehaves. */
  readonly worker?: string;
}

/** A pool of threads, for one batch or for jobs without native code. */
export type ThreadPool = BatchPool & Pick<SharedPool, 'statistics'>;

/** Bytes; 0 where the file cannot be asked, for which reading it will give the reason. */
export function sizeOf(source: Source): number {
  if ('bytes' in source) return source.bytes.byteLength;
  try {
    return statSync(source.path).size;
  } catch {
    return 0;
  }
}

export function failed(originalSize: number, code: FileErrorCode, message: string): JobFailure {
  return { ok: false, originalSize, error: { code, message } };
}

export function overdue(originalSize: number, { limits }: Job): JobFailure {
  const seconds = Number((limits.deadline / 1000).toFixed(3));
  return failed(originalSize, 'timeout', `not done within ${seconds} s`);
}

export function workerFile(name: 'image' | 'process'): string {
  return createRequire(import.meta.url).resolve(`#workers/${name}.js`);
}

/** Memory in which the threads of all pools agree on which of them does what is done once. */
const workerData = { fence: new SharedArrayBuffer(4) };

/** Starts a thread for each core; they stay until the pool is closed. */
export async function startPool({
  threads = availableParallelism(),
  worker = workerFile('image'),
}: PoolOptions = {}): Promise<ThreadPool> {
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
    // Piscina would load the file by require(), and Node 20 aborts the whole process where a thread
    // is ended meanwhile (v8::Module::IsGraphAsync); it falls back to import(), which bears that.
    execArgv: ['--no-experimental-require-module'],
  });
  // A thread that dies between jobs is replaced; there is no job whose result could say so.
  piscina.on('error', () => {});

  // Jobs wait here rather than in Piscina, which does not tell when it starts one.
  const places = new Places(threads);
  let abandoned = false;
  const finished = new Map<string, { jobs: number; milliseconds: number }>();
  const count = (operation: string, milliseconds: number) => {
    const counted = finished.get(operation) ?? { jobs: 0, milliseconds: 0 };
    counted.jobs += 1;
    counted.milliseconds += milliseconds;
    finished.set(operation, counted);
  };

  return {
    size: threads,
    async run(job, { client = '', signal } = {}) {
      const leave = await places.take(client, signal);
      const started = performance.now();
      // Aborting a job under way is how Piscina gives up its thread.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), job.limits.deadline);
      const bytes = 'bytes' in job.source ? job.source.bytes : undefined;
      // Bytes are moved to the thread: afterwards their length is 0 here.
      const moved = bytes?.byteLength;
      const size = () => moved ?? sizeOf(job.source);
      try {
        return (await piscina.run(job, {
          signal: late.signal,
          ...(bytes && { transferList: [bytes.buffer as ArrayBuffer] }),
        })) as JobResult;
      } catch (error) {
        if (late.signal.aborted) {
          abandoned = true;
          return overdue(size(), job);
        }
        const reason = error instanceof Error ? error.message : String(error);
        return failed(
          size(),
          'worker_crashed',
          `the thread died while working on this file: ${reason}`,
        );
      } finally {
        clearTimeout(timer);
        count(job.operation, performance.now() - started);
        leave();
      }
    },
    get abandoned() {
      return abandoned;
    },
    statistics: () => ({ waiting: places.waiting, running: places.taken, finished }),
    close: () => piscina.destroy(),
  };
}

/**
 * Performs jobs on the calling thread, several at once. sharp's own work runs on libuv's threads in
 * any case, so for a little work, starting threads with a decoder each would cost more than it gives.
 *
 * @param size jobs at once
 */
export async function inlinePool(size: number): Promise<BatchPool> {
  const file = pathToFileURL(workerFile('image')).href;
  const { perform } = (await import(file)) as typeof import('#workers/image.js');
  const underWay = new Set<Promise<JobResult>>();
  let abandoned = false;
  return {
    size,
    get abandoned() {
      return abandoned;
    },
    async run(job) {
      const performed = perform(job);
      underWay.add(performed);
      void performed.then(() => underWay.delete(performed));
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<JobResult>((resolve) => {
        timer = setTimeout(() => {
          abandoned = true;
          resolve(overdue(sizeOf(job.source), job));
        }, job.limits.deadline);
      });
      try {
        return await Promise.race([performed, late]);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      await Promise.all(underWay);
    },
  };
}

/** CPU milliseconds of work below which starting threads (80 ms each) costs more than 3 %. */
const LITTLE_WORK = 5000;
/** CPU milliseconds of one file beside which passing it to a thread and back (0.5 ms) is nothing. */
const LARGE_FILE = 10;
/** CPU milliseconds that the calling thread itself spends on a file, which bounds how many it feeds. */
const OWN_SHARE = 0.5;

/** Files beyond the cores that are under way, so that those stay busy while small ones are passed on. */
const SPARE = 2;

/**
 * The pool that will be fastest for a batch: threads, or the calling thread alone.
 *
 * @param work roughly, as the operation's cost tells
 * @param jobs files that shall be worked on at once; the processor's cores where not given
 */
export async function poolFor(
  work: { readonly milliseconds: number; readonly files: number },
  jobs: number | undefined,
): Promise<BatchPool> {
  const files = Math.max(1, work.files);
  const atOnce = Math.min(jobs ?? availableParallelism(), files);
  const each = work.milliseconds / files;
  const large = each > LARGE_FILE;
  if (work.milliseconds > LITTLE_WORK && (large || each / atOnce < OWN_SHARE)) {
    return startPool({ threads: atOnce });
  }
  return inlinePool(large || jobs !== undefined ? atOnce : Math.min(atOnce + SPARE, files));
}
