import { availableParallelism, totalmem } from 'node:os';
import type { FileErrorCode } from '../error-codes.ts';
import { Failure } from '../failure.ts';
import type { Estimate } from '../images/input.ts';
import type { Job, JobResult } from './job.ts';
import { Places } from './places.ts';
import {
  failed,
  overdue,
  type SharedPool,
  sizeOf,
  startPool,
  type Turn,
  workerFile,
} from './pool.ts';
import { Processes, ProcessLost } from './processes.ts';

export interface SharedPoolOptions {
  /** Jobs at once; the processor's cores where not given. */
  readonly threads?: number | undefined;
  /** Bytes that large jobs under way may need together. */
  readonly memory?: number | undefined;
  /** The built file that a process runs, for tests that need one which misbehaves. */
  readonly worker?: string;
  /** Milliseconds after which a job that was estimated to be small counts as large. */
  readonly patience?: number;
}

/** What a job may take without waiting for a place among the large ones. */
const SMALL: Estimate = { milliseconds: 1000, bytes: 64 * 2 ** 20 };

const MB = 2 ** 20;

/** Half of what the container or machine has beyond what the daemon and small jobs need. */
function defaultMemory(): number {
  // 0 or far more than there is, depending on the version, where nothing constrains the process.
  const constrained = process.constrainedMemory?.() ?? 0;
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.max(256 * MB, (available - 512 * MB) / 2);
}

/**
 * The daemon's pool. Whatever decodes or draws an image is done by processes, so that no native code
 * runs in the daemon itself: a job can be killed at its deadline, a crash costs one file, and libuv's
 * threads are left to the disk. Threads do the rest: judging long texts and hashing bytes.
 *
 * A process begins each job as a small one and gives it back if, by the image's header, it will take
 * more. Large jobs have processes of their own and wait for memory; small ones never wait for them.
 * Estimates can be wrong: a small job that takes too long is killed, and begun again as a large one.
 */
export async function startSharedPool({
  threads = availableParallelism(),
  memory = defaultMemory(),
  worker = workerFile('process'),
  patience = 5000,
}: SharedPoolOptions = {}): Promise<SharedPool> {
  const inThreads = await startPool({ threads });
  // One place more than a single client may have, so that its jobs never fill all of them.
  const small = {
    places: new Places(threads + 1, { places: threads }),
    processes: new Processes({ worker, nice: 0 }),
  };
  const shares = { places: threads, bytes: memory, bytesOfOne: (memory * 3) / 4 };
  const large = {
    places: new Places(threads + 1, shares),
    processes: new Processes({ worker, nice: 10 }),
  };
  const finished = new Map<string, { jobs: number; milliseconds: number }>();
  const count = (operation: string, milliseconds: number, jobs = 1) => {
    const counted = finished.get(operation) ?? { jobs: 0, milliseconds: 0 };
    counted.jobs += jobs;
    counted.milliseconds += milliseconds;
    finished.set(operation, counted);
  };
  const waitingOf = (client: string) =>
    small.places.waitingOf(client) + large.places.waitingOf(client);

  /** Performs a job that is granted this much; undefined where it needs more. */
  const attempt = async (
    { places, processes }: typeof small,
    job: Job,
    grant: Estimate,
    { client = '', signal }: Turn,
  ): Promise<JobResult | Estimate> => {
    const isLarge = grant !== SMALL;
    const leave = await places.take(client, signal, isLarge ? grant.bytes : 0);
    const started = performance.now();
    const deadline = isLarge ? job.limits.deadline : Math.min(job.limits.deadline, patience);
    try {
      // A small job is finished: to start a process again would cost more than the rest of it.
      const outcome = await processes.run({ job, grant }, deadline, isLarge ? signal : undefined);
      const done = outcome.result !== undefined;
      count(job.operation, performance.now() - started, done ? 1 : 0);
      return done ? outcome.result : outcome.estimate;
    } catch (error) {
      const isOver =
        !(error instanceof ProcessLost && error.late) || deadline === job.limits.deadline;
      count(job.operation, performance.now() - started, isOver ? 1 : 0);
      if (!(error instanceof ProcessLost)) throw error;
      if (!isOver) return grant;
      const size = sizeOf(job.source);
      return error.late ? overdue(size, job) : failed(size, 'worker_crashed', error.message);
    } finally {
      leave();
    }
  };

  return {
    size: threads,
    async run(job, turn = {}) {
      const { client = '', mostWaiting } = turn;
      if (mostWaiting !== undefined && waitingOf(client) >= mostWaiting) throw tooMany(mostWaiting);
      if (!isNative(job)) return inThreads.run(job, turn);
      let outcome = await attempt(small, job, SMALL, turn);
      // Decoding is estimated before encoding, so that a grant may have to grow.
      for (let grant = SMALL; !('ok' in outcome); ) {
        const refused = refusal(outcome, job, memory);
        if (refused !== null) return refused;
        const bytes = Math.max(grant.bytes, outcome.bytes);
        grant = { milliseconds: job.limits.deadline, bytes };
        outcome = await attempt(large, job, grant, turn);
      }
      return outcome;
    },
    statistics: () => {
      const { waiting, running, finished: judged } = inThreads.statistics();
      return {
        waiting: waiting + small.places.waiting + large.places.waiting,
        running: running + small.places.taken + large.places.taken,
        finished: new Map([...finished, ...judged]),
      };
    },
    async probe(patience) {
      const fault = small.processes.startFault ?? large.processes.startFault;
      if (fault !== null) return fault;
      const giveUp = new AbortController();
      const timer = setTimeout(() => giveUp.abort(), patience);
      try {
        (await small.places.take('readiness probe', giveUp.signal))();
        return null;
      } catch {
        return `no image work was begun for ${patience / 1000} s`;
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

/** Whether a job runs native code over an image. */
function isNative({ operation, options }: Job): boolean {
  if (operation === 'judge') return false;
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
    const need = `about ${Math.round(bytes / MB)} MB of memory`;
    const limit = `the ${Math.round(memory / MB)} MB of the operator's setting pool.memory`;
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
