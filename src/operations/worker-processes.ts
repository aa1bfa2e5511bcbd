import { type ChildProcess, fork } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Estimate } from '../images/input.ts';
import type { Job, JobResult } from './job.ts';

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

/** A process sent no response: it missed the job's deadline, or died. */
export class ProcessLostError extends Error {
  readonly isTimeout: boolean;

  constructor(message: string, isTimeout = false) {
    super(message);
    this.isTimeout = isTimeout;
  }
}

export interface ProcessOptions {
  /** The built file that they run. */
  readonly worker: string;
  /** Their nice value, 0 to 19: the higher, the less of a busy processor they get. */
  readonly nice: number;
}

/** Milliseconds for a process to load its code (85 on an idle machine). */
const START_TIMEOUT_MS = 30_000;
/** Milliseconds after which an idle process ends. */
const IDLE_TIMEOUT_MS = 60_000;
/** Resident bytes beyond which a process ends with its job: the allocator keeps freed memory. */
const MAX_IDLE_BYTES = 200 * 1024 * 1024;

/** Environment variables of the processes. Others may contain keys of providers. */
const INHERITED = [
  ...['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'SystemRoot'],
  // Where fontconfig looks for its configuration and fonts.
  ...['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME'],
  ...['FONTCONFIG_FILE', 'FONTCONFIG_PATH'],
];

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
 * Processes for jobs that run native code over untrusted files. A process starts when no idle one is
 * left, is reused for further jobs, and is killed when its job misses the deadline or is aborted. If
 * it dies, only its job fails, after a second attempt: the system may have ended the process for
 * another reason, as it does when memory is short.
 */
export class WorkerProcesses {
  readonly #options: ProcessOptions;
  readonly #all = new Set<WorkerProcess>();
  /** A stack: the process that was used last is reused first. */
  readonly #idle: WorkerProcess[] = [];
  #startFault: string | null = null;
  #closed = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** The error of the last attempt to start a process; null where it succeeded. */
  get startFault(): string | null {
    return this.#startFault;
  }

  /**
   * Runs a job in a process.
   *
   * @param deadline milliseconds from when the process has started
   * @throws ProcessLostError; the signal's reason
   */
  async run(
    request: ProcessRequest,
    deadline: number,
    signal?: AbortSignal,
  ): Promise<ProcessOutcome> {
    const started = performance.now();
    const worker = this.#idle.pop() ?? this.#start();
    try {
      return await this.#runIn(worker, request, deadline, signal);
    } catch (error) {
      const isRepeated =
        error instanceof ProcessLostError && !error.isTimeout && worker.startFault === null;
      if (!isRepeated || this.#closed) throw error;
    }
    const left = Math.max(1, deadline - (performance.now() - started));
    return this.#runIn(this.#start(), request, left, signal);
  }

  close(): void {
    this.#closed = true;
    for (const worker of this.#all) worker.kill();
  }

  async #runIn(
    worker: WorkerProcess,
    request: ProcessRequest,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<ProcessOutcome> {
    try {
      const { memory = 0, ...outcome } = await worker.run(request, deadline, signal);
      if (memory > MAX_IDLE_BYTES) worker.kill();
      else this.#keepIdle(worker);
      return outcome;
    } catch (error) {
      worker.kill();
      throw error;
    } finally {
      if (!this.#closed) this.#startFault = worker.startFault;
    }
  }

  #start(): WorkerProcess {
    if (this.#closed) throw new ProcessLostError('the daemon is being stopped');
    try {
      const worker = new WorkerProcess(this.#options, () => {
        this.#all.delete(worker);
        const at = this.#idle.indexOf(worker);
        if (at !== -1) this.#idle.splice(at, 1);
      });
      this.#all.add(worker);
      return worker;
    } catch (error) {
      // For example, no file descriptor is left.
      this.#startFault = `no process could be started: ${(error as Error).message}`;
      throw new ProcessLostError(this.#startFault);
    }
  }

  #keepIdle(worker: WorkerProcess): void {
    if (this.#closed || worker.dead) return;
    this.#idle.push(worker);
    worker.killAfter(IDLE_TIMEOUT_MS);
  }
}

class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #onEnd: () => void;
  /** Rejects the pending response. */
  #rejectPending: (error: ProcessLostError) => void = () => {};
  dead = false;
  startFault: string | null = null;

  /** @param onEnd called once, when the process has ended */
  constructor({ worker, nice }: ProcessOptions, onEnd: () => void) {
    this.#child = fork(worker, [], {
      serialization: 'advanced',
      env: environment(),
      execArgv: [],
      // Native libraries print messages that are no log lines.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#onEnd = onEnd;
    const child = this.#child;
    child.on('exit', (code, signal) => this.#end(`died (${signal ?? `exit code ${code}`})`));
    child.on('error', ({ message }) => {
      // The IPC channel failed, or the process did not start.
      child.kill('SIGKILL');
      this.#end(`could not be used: ${message}`);
    });
    this.#ready = this.#response<'ready'>(START_TIMEOUT_MS).then(
      () => {
        lowerPriority(child, nice);
      },
      (error: ProcessLostError) => {
        this.startFault = error.isTimeout
          ? `no process was up after ${START_TIMEOUT_MS / 1000} s`
          : error.message;
        throw new ProcessLostError(this.startFault);
      },
    );
    // Each `run` awaits the promise and gets the error; without this, Node would report it here.
    this.#ready.catch(() => {});
  }

  /** @throws ProcessLostError; the signal's reason */
  async run(
    request: ProcessRequest,
    deadline: number,
    signal?: AbortSignal,
  ): Promise<ProcessResponse> {
    clearTimeout(this.#idleTimer);
    await this.#ready;
    const child = this.#child;
    const response = this.#response<ProcessResponse>(deadline, signal);
    if (child.connected) child.send(request, () => {});
    return response;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    // Its exit is reported later, and until then a job would be given to it.
    this.#end('died (SIGKILL)');
  }

  killAfter(milliseconds: number): void {
    this.#idleTimer = setTimeout(() => this.kill(), milliseconds);
    this.#idleTimer.unref();
  }

  #end(reason: string): void {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.#idleTimer);
    this.#onEnd();
    this.#rejectPending(new ProcessLostError(`the process that worked on this file ${reason}`));
  }

  /** Resolves with the next message. */
  #response<Message>(milliseconds: number, signal?: AbortSignal): Promise<Message> {
    return new Promise((resolve, reject) => {
      const abort = () => finish(() => reject(signal?.reason));
      const timer = setTimeout(
        () => finish(() => reject(new ProcessLostError('too late', true))),
        milliseconds,
      );
      const receive = (message: unknown) => finish(() => resolve(message as Message));
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.#child.off('message', receive);
        this.#rejectPending = () => {};
        settle();
      };
      if (this.dead) {
        finish(() => reject(new ProcessLostError('the process that worked on this file died')));
      } else if (signal?.aborted) {
        abort();
      } else {
        this.#rejectPending = (error) => finish(() => reject(error));
        this.#child.on('message', receive);
        signal?.addEventListener('abort', abort);
      }
    });
  }
}

function lowerPriority({ pid }: ChildProcess, nice: number): void {
  try {
    if (pid !== undefined) setPriority(pid, nice);
  } catch {
    // The process has ended already, or the system has no priorities.
  }
}
