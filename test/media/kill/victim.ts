import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../bench/free-port.ts';
import { endOfAudit, startDaemon, type TestDaemon } from '../../daemon.ts';
import { start } from '../../oriel.ts';

/** A daemon that is killed again and again, and comes back at the same address with what it had. */
export class Victim {
  readonly #data: string;
  readonly #config: object;
  #port: string | undefined;
  #up = new Gate<TestDaemon>();
  #daemon: TestDaemon | undefined;
  /** Answers by their status. */
  readonly statuses = new Map<number, number>();
  /** Answers that were lost with the daemon. */
  lost = 0;

  constructor(data: string, config: object) {
    this.#data = data;
    this.#config = config;
  }

  /** The daemon that was started last. */
  get daemon(): TestDaemon {
    return this.#daemon!;
  }

  async start(): Promise<TestDaemon> {
    this.#port ??= String(await freePort());
    const daemon = await startDaemon({
      data: this.#data,
      config: this.#config,
      args: ['--port', this.#port],
    });
    this.#daemon = daemon;
    this.#up.open(daemon);
    return daemon;
  }

  /** Ends it in the middle of whatever it does. */
  kill(): Promise<unknown> {
    return this.#end('SIGKILL');
  }

  /** Ends it as the system would. */
  stop(): Promise<unknown> {
    return this.#end('SIGTERM');
  }

  /** Starts it, and kills it after some milliseconds, ready or not. */
  async stillbirth(milliseconds: number): Promise<void> {
    const args = ['serve', '--port', this.#port!, '--data', this.#data, '--log-format', 'json'];
    const { child, ended } = start(args, { cwd: this.#data });
    await delay(milliseconds);
    child.kill('SIGKILL');
    await ended;
  }

  /** Asks until there is an answer other than that it should ask later, through all deaths. */
  async ask(path: string, key: string, init: RequestInit = {}): Promise<Answer> {
    for (;;) {
      const daemon = await this.#up.passed;
      try {
        const headers = { ...init.headers, authorization: `Bearer ${key}` };
        const response = await daemon.request(path, { ...init, headers });
        const bytes = Buffer.from(await response.arrayBuffer());
        const { status } = response;
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
        if (status !== 503) return { status, headers: response.headers, bytes };
        await delay(50);
      } catch {
        this.lost += 1;
        // The exit event may come after the port is closed.
        await delay(5);
      }
    }
  }

  async #end(signal: NodeJS.Signals): Promise<unknown> {
    this.#up = new Gate();
    return this.#daemon && endOfAudit(this.#daemon, signal);
  }
}

/** Something to wait for that happens once. */
class Gate<Value> {
  open!: (value: Value) => void;
  readonly passed = new Promise<Value>((resolve) => {
    this.open = resolve;
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

export const jsonOf = <Value>({ bytes }: Answer): Value => JSON.parse(bytes.toString()) as Value;
