import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Logger } from 'pino';
import { codedFailure, type Failure } from '../../failure.ts';
import { addMetrics, type MetricFamilies } from '../../http/observability/metric-registry.ts';
import { type FromProcess, placeVariable, type ToProcess } from './peers.ts';

/** Milliseconds until a crashed process is started again: at first, and at most. They double with each crash. */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 30_000;

/** Milliseconds after which a process that ran so long counts as sound. */
const SOUND_MS = 60_000;

/** Milliseconds beyond `server.grace` after which a draining process is killed. */
const BEYOND_GRACE_MS = 15_000;

/** Milliseconds in which all processes send their metrics. */
const COLLECT_MS = 2000;

interface SupervisorOptions {
  readonly count: number;
  /** Numbers that left charges behind: their processes start too, and those beyond `count` end once they are ready. */
  readonly unbooked: readonly number[];
  /** Milliseconds for open requests to finish. */
  readonly grace: number;
  readonly log: Logger;
}

interface Child {
  readonly number: number;
  readonly worker: Worker;
  readonly exited: Promise<number>;
  readyAt: number | null;
  isDraining: boolean;
  /** What it sent last. */
  metrics: MetricFamilies;
}

interface Ready {
  readonly url: string;
  readonly operationsUrl: string | undefined;
}

/** A process that ended before it was ready. */
class StartFailure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the process ended with ${exitCode} before it was ready`);
    this.exitCode = exitCode;
  }
}

/** Runs several daemons on one port, and starts those again that crash. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children = new Set<Child>();
  /** Timers of the next starts, by number. */
  readonly #waiting = new Map<number, NodeJS.Timeout>();
  readonly #crashes = new Map<number, number>();
  readonly #collecting = new Map<number, (child: Child, metrics: MetricFamilies) => void>();
  /** Counters of processes that have ended. */
  #retired: MetricFamilies = [];
  #nextId = 0;
  #restarting: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    // Without round robin one process accepts nearly all connections while the others wait.
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ exec: process.argv[1]!, args: process.argv.slice(2) });
  }

  /**
   * Starts the first process alone, then the others.
   *
   * @returns where they listen, or the exit code of a process that ended before it was ready
   */
  async start(): Promise<Ready | number> {
    const { count, unbooked } = this.#options;
    const own = Array.from({ length: count }, (_, index) => index + 1);
    const numbers = [...new Set([...own, ...unbooked])];
    try {
      const ready = await this.#start(numbers[0]!, true);
      await Promise.all(numbers.slice(1).map((number) => this.#start(number)));
      for (const number of numbers.slice(count)) void this.#retire(number);
      return ready;
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      await this.stop();
      return error.exitCode;
    }
  }

  /** Makes all processes, or all but one, read the configuration again. */
  reload(except?: Child): void {
    for (const child of this.#children) if (child !== except) child.worker.process.kill('SIGHUP');
  }

  /**
   * Replaces the processes one by one, each once its successor is ready.
   *
   * @returns how many
   * @throws Failure `restart_failed` if a successor cannot start; the other processes go on
   */
  restart(): Promise<number> {
    const restarted = this.#restarting.then(() => this.#restart());
    this.#restarting = restarted.catch(() => {});
    return restarted;
  }

  /** Ends all processes: each drains within `server.grace`. @returns whether all of them ended well */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    const codes = await Promise.all(
      Array.from(this.#children, (child) => this.#drain(child, false)),
    );
    return codes.every((code) => code === 0);
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const { worker } of this.#children) worker.process.kill('SIGKILL');
  }

  async #restart(): Promise<number> {
    const numbers = [...this.#waiting.keys()];
    for (const { number, isDraining } of this.#children) if (!isDraining) numbers.push(number);
    for (const number of numbers) {
      if (this.#isStopping) throw restartFailed('the server stops');
      const next = this.#freeNumber();
      try {
        await this.#start(next);
      } catch (error) {
        throw restartFailed(`${(error as Error).message}; its error is in the log`);
      }
      await this.#retire(number);
      this.#options.log.info({ process: number, by: next }, 'process replaced');
    }
    return numbers.length;
  }

  #freeNumber(): number {
    const used = new Set([
      ...this.#waiting.keys(),
      ...Array.from(this.#children, (one) => one.number),
    ]);
    let number = 1;
    while (used.has(number)) number += 1;
    return number;
  }

  /** Ends the process of a number, or the wait for its next start. */
  async #retire(number: number): Promise<void> {
    clearTimeout(this.#waiting.get(number));
    this.#waiting.delete(number);
    for (const child of this.#children) if (child.number === number) await this.#drain(child, true);
  }

  async #drain(child: Child, isReplaced: boolean): Promise<number> {
    child.isDraining = true;
    send(child.worker, { oriel: 'drain', isReplaced });
    const limit = setTimeout(
      () => child.worker.process.kill('SIGKILL'),
      this.#options.grace + BEYOND_GRACE_MS,
    );
    return child.exited.finally(() => clearTimeout(limit));
  }

  /** @throws StartFailure */
  async #start(number: number, isFirst = false): Promise<Ready> {
    const { count, log } = this.#options;
    const worker = cluster.fork(placeVariable({ number, count, isFirst }));
    const closeLost = watchConnections(worker);
    const exited = once(worker, 'exit').then(
      ([code, signal]: (number | NodeJS.Signals | null)[]) =>
        typeof code === 'number' ? code : 128 + constants.signals[signal as NodeJS.Signals],
    );
    const child: Child = { number, worker, exited, readyAt: null, isDraining: false, metrics: [] };
    this.#children.add(child);
    const ready = new Promise<Ready>((resolve) => {
      worker.on('message', (message: FromProcess) => {
        if (message.oriel === 'ready') {
          child.readyAt = performance.now();
          resolve(message);
        } else this.#receive(child, message);
      });
    });
    const ended = exited.then(async (code): Promise<never> => {
      closeLost();
      this.#children.delete(child);
      this.#retired = await addMetrics([this.#retired, child.metrics], true);
      if (child.readyAt !== null && !child.isDraining && !this.#isStopping) {
        log.error({ process: number, pid: worker.process.pid, code }, 'process ended unexpectedly');
        this.#startLater(number, performance.now() - child.readyAt);
      }
      throw new StartFailure(code);
    });
    return Promise.race([ready, ended]);
  }

  /** @param ranMs milliseconds for which the process before served */
  #startLater(number: number, ranMs: number): void {
    const crashes = ranMs < SOUND_MS ? (this.#crashes.get(number) ?? 0) : 0;
    this.#crashes.set(number, crashes + 1);
    const wait = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** crashes);
    const { log } = this.#options;
    const start = () => {
      this.#waiting.delete(number);
      this.#start(number).then(
        () => log.info({ process: number }, 'process started again'),
        ({ message }: Error) => {
          if (this.#isStopping) return;
          log.error({ process: number, reason: message }, 'process cannot start');
          this.#startLater(number, 0);
        },
      );
    };
    this.#waiting.set(number, setTimeout(start, wait));
  }

  #receive(child: Child, message: Exclude<FromProcess, { oriel: 'ready' }>): void {
    if (message.oriel === 'reload') this.reload(child);
    else if (message.oriel === 'collect') void this.#collect(child, message.id);
    else if (message.oriel === 'metrics')
      this.#collecting.get(message.id)?.(child, message.metrics);
    else if (message.oriel === 'requests') {
      for (const one of this.#children) if (one !== child) send(one.worker, message);
    } else if (message.oriel === 'ended') {
      child.metrics = message.metrics;
      send(child.worker, { oriel: 'ended' });
    }
  }

  /** Sends a process the metrics of all: those that do not answer in time count as they did last. */
  async #collect(asker: Child, askerId: number): Promise<void> {
    const id = this.#nextId++;
    const missing = new Set(Array.from(this.#children).filter(({ readyAt }) => readyAt !== null));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, COLLECT_MS);
      this.#collecting.set(id, (child, metrics) => {
        child.metrics = metrics;
        missing.delete(child);
        if (missing.size > 0) return;
        clearTimeout(timer);
        resolve();
      });
      for (const { worker } of missing) send(worker, { oriel: 'metrics', id });
    });
    this.#collecting.delete(id);
    const all = [this.#retired, ...Array.from(this.#children, ({ metrics }) => metrics)];
    send(asker.worker, { oriel: 'collected', id: askerId, all });
  }
}

function restartFailed(reason: string): Failure {
  return codedFailure('restart_failed', `not all processes were replaced: ${reason}`);
}

function send(worker: Worker, message: ToProcess): void {
  // It may end at any moment.
  if (worker.isConnected()) worker.process.send(message, undefined, undefined, () => {});
}

interface Handle {
  close(): void;
}

/**
 * Remembers the connection that was passed to a process last. Node waits for its acceptance before it passes the next
 * one; if the process is killed meanwhile it would stay open for ever, without an answer.
 *
 * @returns closes it, unless the process accepted it
 */
function watchConnections({ process: child }: Worker): () => void {
  const passed = child as unknown as {
    send(message: object, handle?: Handle, ...rest: unknown[]): boolean;
  };
  const original = passed.send.bind(passed);
  let last: Handle | undefined;
  passed.send = (message, handle, ...rest) => {
    if (handle !== undefined) last = handle;
    return original(message, handle, ...rest);
  };
  return () => last?.close();
}
