import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readAdminEndpoint } from '../../src/administration/admin-endpoint.ts';
import { freePort } from '../bench/free-port.ts';

/** The built program, from the compiled place test/torture/.out/test/torture. */
export const ORIEL = fileURLToPath(new URL('../../../../../dist/bin/oriel.cjs', import.meta.url));

export const OWNER_KEY = 'oriel_torture_owner_key_00000000000000';

/** Milliseconds until a daemon that is not ready counts as failed. */
const START_TIMEOUT = 120_000;

/** The built daemon as a process that is stopped, killed and started again at the same address. */
export class Daemon {
  readonly folder: string;
  readonly data: string;
  readonly url: string;
  readonly port: number;
  readonly #heap: number;
  readonly #log: string;
  #child: ChildProcess | undefined;
  #starts = 0;

  private constructor(folder: string, data: string, port: number, heap: number, log: string) {
    this.folder = folder;
    this.data = data;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.#heap = heap;
    this.#log = log;
  }

  /**
   * @param heap megabytes that V8 may use for objects
   * @param log file of the log: of standard output, or the one that the configuration names
   */
  static async prepare(
    folder: string,
    data: string,
    heap: number,
    log = join(folder, 'log'),
  ): Promise<Daemon> {
    return new Daemon(folder, data, await freePort(), heap, log);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && !this.#child.signalCode;
  }

  configure(config: object): void {
    // Every JSON document is a YAML document.
    writeFileSync(this.#path('oriel.yaml'), JSON.stringify(config));
  }

  /** Starts it and waits until it is ready. @returns the duration in milliseconds */
  async start(): Promise<number> {
    this.#starts += 1;
    const log = openSync(this.#log, 'a');
    const errors = openSync(this.#path('errors'), 'a');
    const from = statSync(this.#log).size;
    const started = performance.now();
    const child = spawn(
      process.execPath,
      [
        `--max-old-space-size=${this.#heap}`,
        ORIEL,
        'serve',
        ...['--data', this.data, '--config', this.#path('oriel.yaml'), '--log-format', 'json'],
      ],
      {
        stdio: ['ignore', log, errors],
        env: { PATH: process.env['PATH'], ORIEL_BOOTSTRAP_KEY: OWNER_KEY, NO_COLOR: '1' },
      },
    );
    closeSync(log);
    closeSync(errors);
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    while (!readFileSync(this.#log).subarray(from).includes('"msg":"ready"')) {
      if (!this.alive || performance.now() - started > START_TIMEOUT) {
        throw new Error(
          `the daemon did not start: ${this.errors().slice(-2000)}${this.log().slice(-2000)}`,
        );
      }
      await sleep(20);
    }
    return performance.now() - started;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Ends it and waits. @returns its exit code, or null where a signal ended it */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || !this.alive) return child?.exitCode ?? null;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  }

  log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  errors(): string {
    return readFileSync(this.#path('errors'), 'utf8');
  }

  /** Runs a command of administration. */
  async administer(verb: string, options: object): Promise<Record<string, unknown>> {
    const { url, token } = readAdminEndpoint(this.data)!;
    const response = await fetch(`${url}/${verb}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(options),
    });
    if (!response.ok) throw new Error(`${verb}: ${await response.text()}`);
    return ((await response.json()) as { result: Record<string, unknown> }).result;
  }

  /** Makes an account with credits, and a key of it. */
  async account(
    name: string,
    {
      plan = 'paid',
      credits = '100000',
      rpm,
    }: { plan?: string; credits?: string; rpm?: number } = {},
  ): Promise<{ name: string; key: string; secret: string }> {
    await this.administer('accounts/create', { name, plan, credits });
    const { key } = await this.administer('keys/create', { account: name, ...(rpm && { rpm }) });
    const { secret } = await this.administer('accounts/callback-secret', { name });
    return { name, key: String(key), secret: String(secret) };
  }

  get token(): string {
    return readAdminEndpoint(this.data)?.token ?? '';
  }

  get starts(): number {
    return this.#starts;
  }

  #path(name: string): string {
    return join(this.folder, name);
  }
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
