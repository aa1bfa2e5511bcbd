import { availableParallelism } from 'node:os';
import type { FileErrorCode } from '../../error-codes.ts';
import type { Estimate } from '../../images/input.ts';
import { tooManyWaiting } from '../../threads/text-threads.ts';
import { sumOf, workerFile } from '../../threads/threads.ts';
import type { Job, JobResult } from '../definition/job.ts';
import { DecoderThreads, type ProcessLoss } from './decoder-threads.ts';
import type { JobContext, SharedPool } from './pool.ts';
import { containerMemory, failed, sizeOf, timedOut } from './pool.ts';

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

/** Half of the memory of the container or machine beyond the needs of the daemon and small jobs. */
export const defaultMemory = () => Math.max(256e6, (containerMemory() - 512e6) / 2);

/**
 * The daemon's pool. Each of its threads owns a process that decodes and draws images, so that no native code
 * runs in the daemon itself: a job can be killed at its deadline, a crash costs one file, and libuv's threads
 * stay free for the disk.
 *
 * A process starts each job as a small one and returns an estimate instead of a result if, by the
 * image's header, it needs more. Large jobs have threads of their own and wait for memory; small
 * jobs never wait for them. Estimates can be wrong: a small job that takes too long is killed and
 * started again as a large one.
 */
export function startSharedPool({
  threads = availableParallelism(),
  memory = defaultMemory(),
  worker = workerFile('process'),
  smallJobTimeoutMs = 5000,
}: SharedPoolOptions = {}): SharedPool {
  // One slot more than a single client may hold, so that its jobs never occupy all of them.
  const slots = threads + 1;
  const permits = { permitsPerClient: threads };
  const small = new DecoderThreads({ worker, nice: 0, threads: slots, limits: permits });
  const limits = { ...permits, bytes: memory, bytesPerClient: (memory * 3) / 4 };
  const large = new DecoderThreads({ worker, nice: 10, threads: slots, limits });
  const waitingOf = (client: string) => small.waitingOf(client) + large.waitingOf(client);

  /** Runs a job within a grant; returns the estimate where the job needs more. */
  const attempt = async (
    job: Job,
    grant: Estimate,
    context: JobContext,
  ): Promise<JobResult | Estimate> => {
    const isLarge = grant !== SMALL;
    const deadline = isLarge
      ? job.limits.deadline
      : Math.min(job.limits.deadline, smallJobTimeoutMs);
    const isFinal = (lost: ProcessLoss) =>
      lost.reason !== 'timeout' || deadline === job.limits.deadline;
    const outcome = await (isLarge ? large : small).decode({ job, grant, deadline }, context, {
      bytes: isLarge ? grant.bytes : 0,
      // A small job is not aborted: starting another process would cost more than finishing it.
      isAborted: isLarge,
      ends: (ended) => ('lost' in ended ? isFinal(ended.lost) : ended.result !== undefined),
    });
    if (!('lost' in outcome)) return outcome.result ?? outcome.estimate;
    if (!isFinal(outcome.lost)) return grant;
    const { message, reason } = outcome.lost;
    const size = sizeOf(job.source);
    return reason === 'timeout' ? timedOut(size, job) : failed(size, 'worker_crashed', message);
  };

  return {
    size: threads,
    async run(job, context = {}) {
      const { client = '', maxWaiting } = context;
      if (maxWaiting !== undefined && waitingOf(client) >= maxWaiting)
        throw tooManyWaiting(maxWaiting, 'images');
      let outcome = await attempt(job, SMALL, context);
      // Decoding is estimated before encoding, so the grant may have to grow twice.
      for (let grant = SMALL; !('ok' in outcome); ) {
        const refused = refusal(outcome, job, memory);
        if (refused !== null) return refused;
        const bytes = Math.max(grant.bytes, outcome.bytes);
        grant = { milliseconds: job.limits.deadline, bytes };
        outcome = await attempt(job, grant, context);
      }
      return outcome;
    },
    statistics: () => sumOf([small.statistics(), large.statistics()]),
    async probe(timeoutMs) {
      const fault = small.startFault ?? large.startFault;
      if (fault !== null) return fault;
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), timeoutMs);
      try {
        await small.probe('readiness probe', timeout.signal);
        return null;
      } catch {
        return `no image work was begun for ${timeoutMs / 1000} s`;
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      await Promise.all([small.close(), large.close()]);
    },
  };
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
