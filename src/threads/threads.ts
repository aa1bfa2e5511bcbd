import { createRequire } from 'node:module';
import type { TransferListItem } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { FairSemaphore, type FairSemaphoreLimits } from '../fair-semaphore.ts';

/** The client and the abort signal of a job. */
export interface JobContext {
  /** Clients that share threads are served fairly, whatever the number of their jobs. */
  readonly client?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A job for a thread. */
export interface ThreadJob {
  /** The name under which the job is counted. */
  readonly name: string;
  /** The argument of the worker file's function; structured clone copies it. */
  readonly input: unknown;
  /** The worker file's function; its default export where not given. */
  readonly run?: string;
  /** Moved to the thread rather than copied. */
  readonly transferList?: readonly TransferListItem[];
  /** Milliseconds after which the job's thread is terminated; none where the thread itself keeps the deadline. */
  readonly deadline?: number;
  /** Memory that the job needs, for the limits of the threads. */
  readonly bytes?: number;
  /** Whether an outcome ends the job; another attempt follows where it does not. */
  readonly ends?: (outcome: unknown) => boolean;
}

export interface ThreadStatistics {
  readonly waiting: number;
  readonly running: number;
  /** By name, since the start: jobs that ended, and the milliseconds that they took. */
  readonly finished: ReadonlyMap<string, { readonly jobs: number; readonly milliseconds: number }>;
}

/** The thread died, or it was terminated at the job's deadline. */
export class ThreadLostError extends Error {
  readonly isTimeout: boolean;

  constructor(cause: unknown, isTimeout: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.isTimeout = isTimeout;
  }
}

export interface ThreadsOptions {
  /** The built file that the threads run. */
  readonly file: string;
  readonly threads: number;
  readonly workerData?: unknown;
  readonly limits?: FairSemaphoreLimits;
}

/** The built file of a worker. */
export function workerFile(name: 'image' | 'process' | 'supervisor' | 'text'): string {
  return createRequire(import.meta.url).resolve(`#workers/${name}.js`);
}

/**
 * Threads that run jobs of several clients by turns. They start with the first job, and run until they
 * are closed.
 */
export class Threads {
  readonly #options: ThreadsOptions;
  /** Jobs wait here rather than in Piscina, which does not report when it starts one. */
  readonly #slots: FairSemaphore;
  readonly #finished = new Map<string, { jobs: number; milliseconds: number }>();
  #piscina: Promise<Piscina> | undefined;
  #closed = false;

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.#slots = new FairSemaphore(options.threads, options.limits);
  }

  /**
   * Runs a job once the client has a slot.
   *
   * @throws ThreadLostError; the signal's reason, if it aborts while the job waits
   */
  async run(job: ThreadJob, { client = '', signal }: JobContext = {}): Promise<unknown> {
    const release = await this.#slots.acquire(client, signal, job.bytes);
    try {
      const piscina = await this.start();
      const started = performance.now();
      let jobs = 1;
      try {
        const outcome = await runIn(piscina, job);
        jobs = job.ends?.(outcome) === false ? 0 : 1;
        return outcome;
      } finally {
        this.#count(job.name, performance.now() - started, jobs);
      }
    } finally {
      release();
    }
  }

  /** Starts the threads where they have not been started. @throws ThreadLostError */
  start(): Promise<Piscina> {
    if (this.#closed) throw new ThreadLostError('the threads are closed', false);
    this.#piscina ??= startPiscina(this.#options).catch((error: unknown) => {
      // The next job tries again: there may have been no free file descriptor.
      this.#piscina = undefined;
      throw new ThreadLostError(error, false);
    });
    return this.#piscina;
  }

  /** Resolves when a job of the client could start. @throws the signal's reason */
  async probe(client: string, signal: AbortSignal): Promise<void> {
    (await this.#slots.acquire(client, signal))();
  }

  /** Threads that have been started. */
  get started(): number {
    return this.#piscina === undefined ? 0 : this.#options.threads;
  }

  waitingOf(client: string): number {
    return this.#slots.waitingOf(client);
  }

  statistics(): ThreadStatistics {
    return {
      waiting: this.#slots.waiting,
      running: this.#slots.acquired,
      finished: this.#finished,
    };
  }

  /** Fails all jobs; resolves when no thread runs any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#piscina)?.destroy();
  }

  #count(name: string, milliseconds: number, jobs: number): void {
    const counted = this.#finished.get(name) ?? { jobs: 0, milliseconds: 0 };
    counted.jobs += jobs;
    counted.milliseconds += milliseconds;
    this.#finished.set(name, counted);
  }
}

/** Statistics of several groups of threads together. */
export function sumOf(all: readonly ThreadStatistics[]): ThreadStatistics {
  const finished = new Map<string, { jobs: number; milliseconds: number }>();
  for (const [name, { jobs, milliseconds }] of all.flatMap((one) => [...one.finished])) {
    const sum = finished.get(name) ?? { jobs: 0, milliseconds: 0 };
    finished.set(name, { jobs: sum.jobs + jobs, milliseconds: sum.milliseconds + milliseconds });
  }
  const total = (field: 'waiting' | 'running') => all.reduce((sum, one) => sum + one[field], 0);
  return { waiting: total('waiting'), running: total('running'), finished };
}

async function startPiscina({ file, threads, workerData }: ThreadsOptions): Promise<Piscina> {
  // As CommonJS: an ES module that could not be read once is not read again.
  const { Piscina } = createRequire(import.meta.url)('piscina') as typeof import('piscina');
  const piscina = new Piscina({
    filename: file,
    workerData,
    // With the minimum at the maximum, Piscina replaces a thread that died or was terminated at once,
    // while native code may still occupy the old one.
    minThreads: threads,
    maxThreads: threads,
    // A thread that waits on a lock between jobs would handle no other event.
    atomics: 'disabled',
    // Piscina would load the file by require(), and Node 20 aborts the whole process where a thread
    // is ended meanwhile (v8::Module::IsGraphAsync); it falls back to import(), which does not.
    execArgv: ['--no-experimental-require-module'],
  });
  // A thread that dies between jobs is replaced; no job's result could report it.
  piscina.on('error', () => {});
  return piscina;
}

/** @throws ThreadLostError */
async function runIn(
  piscina: Piscina,
  { input, run, transferList, deadline }: ThreadJob,
): Promise<unknown> {
  // Piscina terminates the thread of a job whose signal aborts.
  const timeout = new AbortController();
  const timer = deadline && setTimeout(() => timeout.abort(), deadline);
  try {
    return await piscina.run(input, {
      ...(deadline && { signal: timeout.signal }),
      ...(run && { name: run }),
      ...(transferList && { transferList: [...transferList] as never }),
    });
  } catch (error) {
    throw new ThreadLostError(error, timeout.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
}
