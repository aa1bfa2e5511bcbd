import { availableParallelism, totalmem } from 'node:os';
import type { FileErrorCode } from '../error-codes.ts';
import { Failure } from '../failure.ts';
import { FairSemaphore } from '../fair-semaphore.ts';
import type { Estimate } from '../images/input.ts';
import type { Job, JobResult } from './job.ts';
import {
  failed,
  type JobContext,
  type SharedPool,
  sizeOf,
  startPool,
  timedOut,
  workerFile,
} from './pool.ts';
import { ProcessLostError, WorkerProcesses } from './worker-processes.ts';

export interface SharedPoolOptions {
  /** Jobs at once; the processor's cores where not given. */
  readonly threads?: number | undefined;
  /** Bytes that large jobs in progress may use together. */
  readonly memory?: number | undefined;
  /** The built file that a process runs; tests replace it. */
  readonly worker?: string;
  /** Milliseconds after which a job that was estimated to be small counts as large. */
  readonly smallJobTimeoutMs?: number;
}

/** Resources that a job may use without waiting for a slot among the large ones. */
const SMALL: Estimate = { milliseconds: 1000, bytes: 64 * 2 ** 20 };

const MB = 1e6;

/** Half of the memory of the container or machine beyond the needs of the daemon and small jobs. */
function defaultMemory(): number {
  // Without a constraint this is 0 or far more than the memory, depending on Node's version.
  const constrained = process.constrainedMemory?.() ?? 0;
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.max(256 * MB, (available - 512 * MB) / 2);
}

/**
 * The daemon's pool. Processes decode and draw images, so that no native code runs in the daemon
 * itself: a job can be killed at its deadline, a crash costs one file, and libuv's threads stay free
 * for the disk. Threads classify long texts and hash bytes.
 *
 * A process starts each job as a small one and returns an estimate instead of a result if, by the
 * image's header, it needs more. Large jobs have processes of their own and wait for memory; small
 * jobs never wait for them. Estimates can be wrong: a small job that takes too long is killed and
 * started again as a large one.
 */
export async function startSharedPool({
  threads = availableParallelism(),
  memory = defaultMemory(),
  worker = workerFile('process'),
  smallJobTimeoutMs = 5000,
}: SharedPoolOptions = {}): Promise<SharedPool> {
  const inThreads = await startPool({ threads });
  // One slot more than a single client may hold, so that its jobs never occupy all of them.
  const small = {
    slots: new FairSemaphore(threads + 1, { permitsPerClient: threads }),
    processes: new WorkerProcesses({ worker, nice: 0 }),
  };
  const limits = { permitsPerClient: threads, bytes: memory, bytesPerClient: (memory * 3) / 4 };
  const large = {
    slots: new FairSemaphore(threads + 1, limits),
    processes: new WorkerProcesses({ worker, nice: 10 }),
  };
  const finished = new Map<string, { jobs: number; milliseconds: number }>();
  const count = (operation: string, milliseconds: number, jobs = 1) => {
    const counted = finished.get(operation) ?? { jobs: 0, milliseconds: 0 };
    counted.jobs += jobs;
    counted.milliseconds += milliseconds;
    finished.set(operation, counted);
  };
  const waitingOf = (client: string) =>
    small.slots.waitingOf(client) + large.slots.waitingOf(client);

  /** Runs a job within a grant; returns the estimate where the job needs more. */
  const attempt = async (
    { slots, processes }: typeof small,
    job: Job,
    grant: Estimate,
    { client = '', signal }: JobContext,
  ): Promise<JobResult | Estimate> => {
    const isLarge = grant !== SMALL;
    const release = await slots.acquire(client, signal, isLarge ? grant.bytes : 0);
    const started = performance.now();
    const deadline = isLarge
      ? job.limits.deadline
      : Math.min(job.limits.deadline, smallJobTimeoutMs);
    try {
      // A small job is not aborted: starting another process would cost more than finishing it.
      const outcome = await processes.run({ job, grant }, deadline, isLarge ? signal : undefined);
      const done = outcome.result !== undefined;
      count(job.operation, performance.now() - started, done ? 1 : 0);
      return done ? outcome.result : outcome.estimate;
    } catch (error) {
      const isFinal =
        !(error instanceof ProcessLostError && error.isTimeout) || deadline === job.limits.deadline;
      count(job.operation, performance.now() - started, isFinal ? 1 : 0);
      if (!(error instanceof ProcessLostError)) throw error;
      if (!isFinal) return grant;
      const size = sizeOf(job.source);
      return error.isTimeout ? timedOut(size, job) : failed(size, 'worker_crashed', error.message);
    } finally {
      release();
    }
  };

  return {
    size: threads,
    async run(job, context = {}) {
      const { client = '', maxWaiting } = context;
      if (maxWaiting !== undefined && waitingOf(client) >= maxWaiting) throw tooMany(maxWaiting);
      if (!isNative(job)) return inThreads.run(job, context);
      let outcome = await attempt(small, job, SMALL, context);
      // Decoding is estimated before encoding, so the grant may have to grow twice.
      for (let grant = SMALL; !('ok' in outcome); ) {
        const refused = refusal(outcome, job, memory);
        if (refused !== null) return refused;
        const bytes = Math.max(grant.bytes, outcome.bytes);
        grant = { milliseconds: job.limits.deadline, bytes };
        outcome = await attempt(large, job, grant, context);
      }
      return outcome;
    },
    statistics: () => {
      const { waiting, running, finished: byThreads } = inThreads.statistics();
      return {
        waiting: waiting + small.slots.waiting + large.slots.waiting,
        running: running + small.slots.acquired + large.slots.acquired,
        finished: new Map([...finished, ...byThreads]),
      };
    },
    async probe(timeoutMs) {
      const fault = small.processes.startFault ?? large.processes.startFault;
      if (fault !== null) return fault;
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), timeoutMs);
      try {
        (await small.slots.acquire('readiness probe', timeout.signal))();
        return null;
      } catch {
        return `no image work was begun for ${timeoutMs / 1000} s`;
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      small.processes.close();
      large.processes.close();
      await inThreads.close();
    },
  };
}

/** Operations over texts. */
const IN_THREADS = new Set(['judge', 'count-tokens', 'read-recipe']);

/** Whether a job runs native code over an image. */
function isNative({ operation, options }: Job): boolean {
  if (IN_THREADS.has(operation)) return false;
  return operation !== 'hash' || (options as { perceptual: string }).perceptual !== 'none';
}

/** The result of a job that cannot be done within the limits; null where it can. */
function refusal({ milliseconds, bytes }: Estimate, job: Job, memory: number): JobResult | null {
  const refuse = (code: FileErrorCode, message: string) =>
    failed(sizeOf(job.source), code, message);
  const { deadline } = job.limits;
  if (milliseconds > deadline) {
    const work = `about ${Math.round(milliseconds / 1000)} s of work`;
    const limit = `the deadline of ${deadline / 1000} s (the operator's setting batch.deadline)`;
    const message = `${work}, more than ${limit}; ask for fewer pixels or less effort`;
    return refuse('work_exceeds_deadline', message);
  }
  if (bytes > memory) {
    const need = `about ${Math.round(bytes / 1e6)} MB of memory`;
    const limit = `the ${Math.round(memory / 1e6)} MB of the operator's setting pool.memory`;
    const message = `${need}, more than ${limit}; ask for fewer pixels or another format`;
    return refuse('work_exceeds_memory', message);
  }
  return null;
}

function tooMany(most: number): Failure {
  return new Failure(
    'rate_limit',
    `${most} images of this account wait already; send this one when others are done`,
    { code: 'too_many_waiting', retryAfter: 5 },
  );
}
