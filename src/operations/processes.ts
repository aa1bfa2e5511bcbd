import { type ChildProcess, fork } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Estimate } from '../images/input.ts';
import type { AbortSignalLike } from '../upstream/abort-signal.ts';
import type { Job, JobResult } from './job.ts';

/** What a process is told to do. */
export interface ProcessOrder {
  readonly job: Job;
  /** A job that would need more is not begun. */
  readonly grant: Estimate;
}

/** The result of a job, or why it was not begun. */
export type ProcessOutcome =
  | { readonly result: JobResult }
  | { readonly estimate: Estimate; readonly result?: never };

/** `memory` is the resident size in bytes afterwards. */
export type ProcessAnswer = ProcessOutcome & { readonly memory?: number };

/** Why a process gave no answer: it was killed at the job's deadline, or died. */
export class ProcessLost extends Error {
  readonly late: boolean;

  constructor(message: string, late = false) {
    super(message);
    this.late = late;
  }
}

export interface ProcessOptions {
  /** The built file that they run. */
  readonly worker: string;
  /** Their nice value, 0 to 19: the higher, the less of a busy processor they get. */
  readonly nice: number;
}

/** Milliseconds for a process to load its code (85 on an idle machine). */
const START = 30_000;
/** Milliseconds after which a process without work ends. */
const IDLE = 60_000;
/** Resident bytes beyond which a process ends with its job: the allocator keeps what it freed. */
const LARGEST_IDLE = 200 * 1024 * 1024;

/** Variables that the processes get; keys of providers are in others. */
const INHERITED = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'SystemRoot'];

function environment(): NodeJS.ProcessEnv {
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(inherited),
    // One job at a time needs one thread for libvips and one for zlib.
    UV_THREADPOOL_SIZE: '2',
    MALLOC_ARENA_MAX: '2',
  };
}

/**
 * Processes for jobs that run native code over files of strangers. They start when they are needed,
 * stay for the next job, and are killed when a job overstays its deadline or nobody wants it any
 * more. One that dies costs its job alone.
 */
export class Processes {
  readonly #options: ProcessOptions;
  readonly #all = new Set<WorkerProcess>();
  /** The last one is the one that worked last. */
  readonly #idle: WorkerProcess[] = [];
  #startFault: string | null = null;
  #closed = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** Why the newest attempt to start a process failed; null where it did not. */
  get startFault(): string | null {
    return this.#startFault;
  }

  /**
   * Has a process perform a job.
   *
   * @param deadline milliseconds from when the process is up
   * @throws ProcessLost; the signal's reason
   */
  async run(
    order: ProcessOrder,
    deadline: number,
    signal?: AbortSignalLike,
  ): Promise<ProcessOutcome> {
    const worker = this.#idle.pop() ?? this.#start();
    try {
      const { memory = 0, ...outcome } = await worker.run(order, deadline, signal);
      if (memory > LARGEST_IDLE) worker.kill();
      else this.#rest(worker);
      return outcome;
    } catch (error) {
      worker.kill();
      throw error;
    } finally {
      if (!this.#closed) this.#startFault = worker.startFault;
    }
  }

  close(): void {
    this.#closed = true;
    for (const worker of this.#all) worker.kill();
  }

  #start(): WorkerProcess {
    if (this.#closed) throw new ProcessLost('the daemon is being stopped');
    try {
      const worker = new WorkerProcess(this.#options, () => {
        this.#all.delete(worker);
        const at = this.#idle.indexOf(worker);
        if (at !== -1) this.#idle.splice(at, 1);
      });
      this.#all.add(worker);
      return worker;
    } catch (error) {
      // Out of descriptors, for one.
      this.#startFault = `no process could be started: ${(error as Error).message}`;
      throw new ProcessLost(this.#startFault);
    }
  }

  #rest(worker: WorkerProcess): void {
    if (this.#closed || worker.dead) return;
    this.#idle.push(worker);
    worker.killAfter(IDLE);
  }
}

class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Rejects whatever is waited for. */
  #lose: (error: ProcessLost) => void = () => {};
  dead = false;
  startFault: string | null = null;

  /** @param onEnd called once, when the process is gone */
  constructor({ worker, nice }: ProcessOptions, onEnd: () => void) {
    this.#child = fork(worker, [], {
      serialization: 'advanced',
      env: environment(),
      execArgv: [],
      // What native libraries print on their end is no log line.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const child = this.#child;
    const end = (reason: string) => {
      if (this.dead) return;
      this.dead = true;
      clearTimeout(this.#idleTimer);
      onEnd();
      this.#lose(new ProcessLost(`the process that worked on this file ${reason}`));
    };
    child.on('exit', (code, signal) => end(`died (${signal ?? `exit code ${code}`})`));
    child.on('error', ({ message }) => {
      // An error of the channel, or none came about.
      child.kill('SIGKILL');
      end(`could not be used: ${message}`);
    });
    this.#ready = this.#answer<'ready'>(START).then(
      () => {
        lowerPriority(child, nice);
      },
      (error: ProcessLost) => {
        this.startFault = error.late ? `no process was up after ${START / 1000} s` : error.message;
        throw new ProcessLost(this.startFault);
      },
    );
    // Whoever runs a job gets it.
    this.#ready.catch(() => {});
  }

  /** @throws ProcessLost; the signal's reason */
  async run(
    order: ProcessOrder,
    deadline: number,
    signal?: AbortSignalLike,
  ): Promise<ProcessAnswer> {
    clearTimeout(this.#idleTimer);
    await this.#ready;
    const child = this.#child;
    const answer = this.#answer<ProcessAnswer>(deadline, signal);
    if (child.connected) child.send(order, () => {});
    return answer;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  killAfter(milliseconds: number): void {
    this.#idleTimer = setTimeout(() => this.kill(), milliseconds);
    this.#idleTimer.unref();
  }

  /** Resolves with the next message. */
  #answer<Message>(milliseconds: number, signal?: AbortSignalLike): Promise<Message> {
    return new Promise((resolve, reject) => {
      const leave = () => finish(() => reject(signal?.reason));
      const timer = setTimeout(
        () => finish(() => reject(new ProcessLost('too late', true))),
        milliseconds,
      );
      const take = (message: unknown) => finish(() => resolve(message as Message));
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.#child.off('message', take);
        this.#lose = () => {};
        settle();
      };
      if (this.dead) {
        finish(() => reject(new ProcessLost('the process that worked on this file died')));
      } else if (signal?.aborted) {
        leave();
      } else {
        this.#lose = (error) => finish(() => reject(error));
        this.#child.on('message', take);
        signal?.addEventListener('abort', leave);
      }
    });
  }
}

function lowerPriority({ pid }: ChildProcess, nice: number): void {
  try {
    if (pid !== undefined) setPriority(pid, nice);
  } catch {
    // It is gone already, or the system has no priorities.
  }
}
