/**
 * The entry of a thread of the daemon's pool: it owns one process that runs image jobs, and kills the process
 * where a job misses its deadline or is aborted. The process is reused for further jobs. If it dies, only its
 * job fails, after a second attempt: the system may have ended the process for another reason, as it does when
 * memory is short.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { BroadcastChannel, type MessagePort, workerData } from 'node:worker_threads';
import type {
  DecoderJob,
  DecoderOutcome,
  DecoderThreadData,
  ProcessLoss,
  ProcessRequest,
  ProcessResponse,
} from '../src/operations/pool/decoder-threads.ts';
import { removeTemporaryFolders } from '../src/temporary.ts';
import { moveResult } from './move-result.ts';

/** Milliseconds for a process to load its code (85 on an idle machine). */
const START_TIMEOUT_MS = 30_000;
/** Milliseconds after which an idle process ends. */
const IDLE_TIMEOUT_MS = 60_000;
/** Resident bytes beyond which a process ends with its job: the allocator keeps freed memory. */
const MAX_IDLE_BYTES = 200 * 1024 * 1024;

/** Environment variables of the process. Others may contain keys of providers. */
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

const { worker, nice, channel } = workerData as DecoderThreadData;

/** The process sent no response. */
class ProcessLostError extends Error {
  readonly reason: ProcessLoss['reason'];

  constructor(message: string, reason: ProcessLoss['reason']) {
    super(message);
    this.reason = reason;
  }
}

removeTemporaryFolders();

class DecoderProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  readonly #ended: Promise<void>;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Rejects the pending response. */
  #rejectPending: (error: ProcessLostError) => void = () => {};
  dead = false;

  constructor() {
    this.#child = fork(worker, [], {
      serialization: 'advanced',
      env: environment(),
      execArgv: [],
      // Native libraries print messages that are no log lines.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const child = this.#child;
    this.#ended = new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        this.#end(`died (${signal ?? `exit code ${code}`})`);
        removeTemporaryFolders();
        resolve();
      });
      child.on('error', ({ message }) => {
        // The IPC channel failed, or the process did not start.
        child.kill('SIGKILL');
        this.#end(`could not be used: ${message}`);
        if (child.pid === undefined) resolve();
      });
    });
    this.#ready = this.#response<'ready'>(START_TIMEOUT_MS).then(
      () => {
        lowerPriority(child);
      },
      ({ message, reason }: ProcessLostError) => {
        const late = `no process was up after ${START_TIMEOUT_MS / 1000} s`;
        throw new ProcessLostError(reason === 'timeout' ? late : message, 'start');
      },
    );
    // Each `run` awaits the promise and gets the error; without this, Node would report it here.
    this.#ready.catch(() => {});
  }

  /**
   * @param deadline milliseconds from when the process has started
   * @param abort a message on this port ends the wait for the response
   * @throws ProcessLostError
   */
  async run(
    request: ProcessRequest,
    deadline: number,
    abort: MessagePort | undefined,
  ): Promise<ProcessResponse> {
    clearTimeout(this.#idleTimer);
    await this.#ready;
    const response = this.#response<ProcessResponse>(deadline, abort);
    if (this.#child.connected) this.#child.send(request, () => {});
    return response;
  }

  /** Resolves when the process has ended. */
  kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    // Its exit is reported later, and until then a job would be given to it.
    this.#end('died (SIGKILL)');
    return this.#ended;
  }

  killWhenIdle(): void {
    this.#idleTimer = setTimeout(() => this.kill(), IDLE_TIMEOUT_MS);
  }

  #end(fate: string): void {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.#idleTimer);
    this.#rejectPending(
      new ProcessLostError(`the process that worked on this file ${fate}`, 'death'),
    );
  }

  /** Resolves with the next message. */
  #response<Message>(milliseconds: number, abort?: MessagePort): Promise<Message> {
    return new Promise((resolve, reject) => {
      const fail = (message: string, reason: ProcessLoss['reason']) =>
        finish(() => reject(new ProcessLostError(message, reason)));
      const timer = setTimeout(() => fail('too late', 'timeout'), milliseconds);
      const stop = () => fail('aborted', 'abort');
      const receive = (message: unknown) => finish(() => resolve(message as Message));
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        abort?.off('message', stop);
        this.#child.off('message', receive);
        this.#rejectPending = () => {};
        settle();
      };
      if (this.dead) {
        fail('the process that worked on this file died', 'death');
        return;
      }
      this.#rejectPending = (error) => finish(() => reject(error));
      this.#child.on('message', receive);
      abort?.on('message', stop);
    });
  }
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, nice);
  } catch {
    // The process has ended already, or the system has no priorities.
  }
}

let current: DecoderProcess | undefined;
let isClosed = false;

/** @throws ProcessLostError */
function takeProcess(): DecoderProcess {
  if (isClosed) throw new ProcessLostError('the daemon is being stopped', 'death');
  if (current !== undefined && !current.dead) return current;
  try {
    current = new DecoderProcess();
    return current;
  } catch (error) {
    // For example, no file descriptor is left.
    const message = `no process could be started: ${(error as Error).message}`;
    throw new ProcessLostError(message, 'start');
  }
}

/** @throws ProcessLostError */
async function attempt(
  { job, grant, abort }: DecoderJob,
  deadline: number,
): Promise<DecoderOutcome> {
  const decoder = takeProcess();
  try {
    const { memory = 0, ...outcome } = await decoder.run({ job, grant }, deadline, abort);
    if (memory > MAX_IDLE_BYTES) decoder.kill();
    else decoder.killWhenIdle();
    return outcome;
  } catch (error) {
    decoder.kill();
    throw error;
  }
}

async function runOrRepeat(request: DecoderJob): Promise<DecoderOutcome> {
  const started = performance.now();
  try {
    return await attempt(request, request.deadline);
  } catch (error) {
    if (!(error instanceof ProcessLostError) || error.reason !== 'death' || isClosed) throw error;
  }
  const left = Math.max(1, request.deadline - (performance.now() - started));
  return attempt(request, left);
}

/** Called by the pool: runs one job, and moves the bytes of its images to the main thread. */
export default async function run(request: DecoderJob): Promise<DecoderOutcome> {
  try {
    const outcome = await runOrRepeat(request);
    return outcome.result ? moveResult(outcome.result, (result) => ({ result })) : outcome;
  } catch (error) {
    if (!(error instanceof ProcessLostError)) throw error;
    return { lost: { message: error.message, reason: error.reason } };
  } finally {
    request.abort?.close();
  }
}

// When the pool is closed, each thread ends its process and waits for it, as its parent must.
const closing = new BroadcastChannel(channel);
closing.onmessage = async ({ data }) => {
  if (data !== 'end') return;
  isClosed = true;
  await current?.kill();
  closing.postMessage('ended');
};
