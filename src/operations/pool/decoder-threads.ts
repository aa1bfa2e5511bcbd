import { randomUUID } from 'node:crypto';
import { BroadcastChannel, MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Estimate } from '../../images/input.ts';
import {
  ThreadLostError,
  Threads,
  type ThreadsOptions,
  workerFile,
} from '../../threads/threads.ts';
import type { Job, JobResult } from '../definition/job.ts';
import type { JobContext } from './pool.ts';

/** `workerData` of a thread that owns a process. */
export interface DecoderThreadData {
  /** The built file that the process runs. */
  readonly worker: string;
  /** The nice value of the process, 0 to 19: the higher, the less of a busy processor it gets. */
  readonly nice: number;
  /** Name of the BroadcastChannel by which all threads are asked to end their processes. */
  readonly channel: string;
}

/** The message that starts a job in a process. */
export interface ProcessRequest {
  readonly job: Job;
  /** Resources that the job may use; a job that needs more is not started. */
  readonly grant: Estimate;
}

/** The result of a job, or the estimate for which it was not started. */
export type ProcessOutcome =
  | { readonly result: JobResult }
  | { readonly estimate: Estimate; readonly result?: never };

/** `memory` is the resident size in bytes after the job. */
export type ProcessResponse = ProcessOutcome & { readonly memory?: number };

/** A job for a thread and its process. */
export interface DecoderJob extends ProcessRequest {
  /** Milliseconds after which the thread kills its process. */
  readonly deadline: number;
  /** A message on this port aborts the job. */
  readonly abort?: MessagePort;
}

/** Why a process sent no response. */
export interface ProcessLoss {
  readonly message: string;
  readonly reason: 'timeout' | 'death' | 'start' | 'abort';
}

export type DecoderOutcome =
  | ProcessOutcome
  | { readonly lost: ProcessLoss; readonly result?: never };

/** Milliseconds for all threads to end their processes. */
const CLOSE_TIMEOUT_MS = 2000;

/**
 * Threads of which each owns one process, and kills it where a job misses its deadline or is aborted: native
 * code cannot be stopped in a thread. Results reach this thread as moved memory, since reading them from a
 * pipe would take it 6 ms for each megabyte. Piscina never terminates these threads: their processes would
 * become zombies.
 */
export class DecoderThreads extends Threads {
  readonly #channel: string;
  #startFault: string | null = null;
  #isClosing = false;

  constructor({
    worker,
    nice,
    ...options
  }: Omit<ThreadsOptions, 'file'> & Omit<DecoderThreadData, 'channel'>) {
    const workerData: DecoderThreadData = {
      ...{ worker, nice },
      channel: `oriel-decoders-${randomUUID()}`,
    };
    super({ ...options, file: workerFile('supervisor'), workerData });
    this.#channel = workerData.channel;
  }

  /** The error of the last attempt to start a process; null where it succeeded. */
  get startFault(): string | null {
    return this.#startFault;
  }

  /**
   * Runs a job in a process of a thread.
   *
   * @param limits.bytes memory that counts against the limits of the threads
   * @param limits.isAborted whether the context's signal ends a job in progress, and with it the process
   * @param limits.ends whether an outcome ends the job, for the statistics
   * @throws the signal's reason
   */
  async decode(
    request: DecoderJob,
    context: JobContext,
    limits: {
      readonly bytes: number;
      readonly isAborted: boolean;
      readonly ends: (outcome: DecoderOutcome) => boolean;
    },
  ): Promise<DecoderOutcome> {
    const { signal } = context;
    const channel = limits.isAborted && signal ? new MessageChannel() : null;
    const abort = () => channel?.port1.postMessage(null);
    signal?.addEventListener('abort', abort);
    try {
      const outcome = (await this.run(
        {
          name: request.job.operation,
          input: channel ? { ...request, abort: channel.port2 } : request,
          ...(channel && { transferList: [channel.port2] }),
          bytes: limits.bytes,
          ends: limits.ends as (outcome: unknown) => boolean,
        },
        context,
      )) as DecoderOutcome;
      const lost = 'lost' in outcome ? outcome.lost : null;
      if (lost?.reason === 'abort') throw signal!.reason;
      if (!this.#isClosing) this.#startFault = lost?.reason === 'start' ? lost.message : null;
      return outcome;
    } catch (error) {
      if (!(error instanceof ThreadLostError)) throw error;
      const message = `the thread that worked on this file died: ${error.message}`;
      return { lost: { message, reason: 'death' } };
    } finally {
      signal?.removeEventListener('abort', abort);
      channel?.port1.close();
    }
  }

  /** Kills all processes, and ends the threads. */
  override async close(): Promise<void> {
    this.#isClosing = true;
    await this.#endProcesses();
    await super.close();
  }

  /** Resolves when each thread has seen its process end. */
  async #endProcesses(): Promise<void> {
    let left = this.started;
    if (left === 0) return;
    const channel = new BroadcastChannel(this.#channel);
    await new Promise<void>((resolve) => {
      // A thread that has just died does not answer.
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      channel.onmessage = ({ data }) => {
        if (data === 'ended') left -= 1;
        if (left > 0) return;
        clearTimeout(timer);
        resolve();
      };
      channel.postMessage('end');
    });
    channel.close();
  }
}
