import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** `metrics.token`. */
export const METRICS_TOKEN = 'bench-metrics-token';

/** The built program, from the compiled place test/bench/.out/daemon. */
export const ORIEL = fileURLToPath(new URL('../../../../dist/bin/oriel.cjs', import.meta.url));

/** Milliseconds until a server that is not ready counts as failed. */
const START_TIMEOUT = 60_000;
/** Clock ticks per second of the CPU times in /proc. */
const TICKS_PER_SECOND = 100;

/** A program to start, and the folder for its output. */
export interface Program {
  readonly folder: string;
  readonly file: string;
  readonly args: readonly string[];
}

/**
 * A server as a separate process. Its log goes to a file: reading a pipe would take CPU of the benchmark for every
 * request, on the cores of the server.
 */
export class Server {
  readonly url: string;
  /** Milliseconds from its start to its first response at the readiness path. */
  readonly readyAfter: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, readyAfter: number) {
    this.#child = child;
    this.url = url;
    this.readyAfter = readyAfter;
  }

  /**
   * Starts `oriel serve` on a data directory, and waits until GET /readyz answers.
   *
   * @param config settings that differ from the defaults
   */
  static async oriel(folder: string, data: string, config: object = {}): Promise<Server> {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'oriel.yaml');
    // Every JSON document is a YAML document.
    writeFileSync(file, JSON.stringify({ metrics: { token: METRICS_TOKEN }, ...config }));
    const options = ['--port', '0', '--data', data, '--log-format', 'json', '--config', file];
    return Server.start(folder, [ORIEL, 'serve', ...options], '/readyz');
  }

  /** Starts a script that logs a line `{ msg: 'ready', url }`. @param args of Node */
  static start(folder: string, args: readonly string[], readyPath: string): Promise<Server> {
    return Server.#launch(
      { folder, file: process.execPath, args },
      readyPath,
      async (log) => /"url":"([^"]+)".*"msg":"ready"/.exec(readFileSync(log, 'utf8'))?.[1],
    );
  }

  /** Starts any program whose listening address is known, and waits for its first response there. */
  static program(program: Program, url: string, readyPath: string): Promise<Server> {
    return Server.#launch(program, readyPath, async () => {
      const answer = await fetch(new URL(readyPath, url)).catch(() => undefined);
      return answer === undefined ? undefined : url;
    });
  }

  /** Runs work with a server, and ends it. */
  static async during<Value>(
    start: () => Promise<Server>,
    work: (server: Server) => Promise<Value>,
    signal: NodeJS.Signals = 'SIGTERM',
  ): Promise<Value> {
    const server = await start();
    return work(server).finally(() => server.stop(signal));
  }

  /** @param urlOf returns the URL from the log once the program listens */
  static async #launch(
    { folder, file, args }: Program,
    readyPath: string,
    urlOf: (log: string) => Promise<string | undefined>,
  ): Promise<Server> {
    mkdirSync(folder, { recursive: true });
    const log = join(folder, 'log');
    const errors = join(folder, 'errors');
    const descriptors = [openSync(log, 'w'), openSync(errors, 'w')] as const;
    const started = performance.now();
    const child = spawn(file, args, { stdio: ['ignore', ...descriptors] });
    for (const descriptor of descriptors) closeSync(descriptor);
    running.add(child);
    child.once('exit', () => running.delete(child));
    let url: string | undefined;
    while (url === undefined) {
      if (child.exitCode !== null || performance.now() - started > START_TIMEOUT) {
        child.kill('SIGKILL');
        throw new Error(`the server did not start: ${readFileSync(errors, 'utf8').slice(-600)}`);
      }
      await sleep(2);
      url = await urlOf(log);
    }
    const { status } = await fetch(new URL(readyPath, url));
    if (status !== 200) {
      child.kill('SIGKILL');
      throw new Error(`${readyPath} answered ${status}`);
    }
    return new Server(child, url, performance.now() - started);
  }

  /** Seconds of CPU time of all its threads so far. */
  cpu(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  /** The same with its child processes. */
  cpuOfFamily(): number {
    return cpuOfFamily(this.#child.pid!);
  }

  /** The largest resident set since the start or the last `forgetPeak`, in bytes. */
  peak(): number {
    return this.#memory('VmHWM');
  }

  /** The resident set now, in bytes. */
  resident(): number {
    return this.#memory('VmRSS');
  }

  #memory(name: string): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)![1]) * 1024;
  }

  /** Resets the peak to the current resident set. */
  forgetPeak(): void {
    writeFileSync(`/proc/${this.#child.pid}/clear_refs`, '5');
  }

  /** Sends a signal, and waits for the exit. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exit;
  }
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Seconds of CPU time of a process and its children so far; those of ended children are in its own. */
export function cpuOfFamily(main: number): number {
  let ticks = 0;
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
      const isMain = Number(id) === main;
      if (!isMain && Number(fields[1]) !== main) continue;
      const times = isMain ? [11, 12, 13, 14] : [11, 12];
      ticks += times.reduce((sum, at) => sum + Number(fields[at]), 0);
    } catch {
      // The process ended meanwhile.
    }
  }
  return ticks / TICKS_PER_SECOND;
}
