import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerFaults } from '../answer.ts';
import { type Answer, ask, NoAnswer, type Outgoing } from '../client.ts';
import type { Outages } from '../outages.ts';
import type { Random } from '../random.ts';
import type { Violations } from '../violations.ts';

/** A scenario of the torture: something hostile in a bounded form, and what must come of it. */
export interface Attack {
  readonly name: string;
  /** What it does, for the report. */
  readonly summary: string;
  run(attacker: Attacker): Promise<void>;
}

/** What attackers have: paid keys with high limits, a free key, and what they know of the daemon. */
export interface Arms {
  readonly url: string;
  readonly keys: readonly string[];
  readonly freeKey: string;
  /** Path of a file of several megabytes. */
  readonly asset: string;
  readonly sendTimeout: number;
  readonly requestTimeout: number;
  /** Milliseconds without an answer after which a request counts as hanging. */
  readonly patience: number;
}

/** One attacker with one scenario: it counts what it tried, and notes what should not have happened. */
export class Attacker {
  readonly arms: Arms;
  readonly random: Random;
  readonly #name: string;
  readonly #outages: Outages;
  readonly #violations: Violations;
  readonly #started = performance.now();
  readonly #sockets: Socket[] = [];
  tried = 0;

  constructor(name: string, arms: Arms, random: Random, outages: Outages, violations: Violations) {
    this.#name = name;
    this.arms = arms;
    this.random = random;
    this.#outages = outages;
    this.#violations = violations;
  }

  get key(): string {
    return this.random.pick(this.arms.keys);
  }

  /** Whether a fault was injected since the scenario began: then only answers are judged. */
  get isDisturbed(): boolean {
    return this.#outages.reaching(this.#started, performance.now()).size > 0;
  }

  /** Notes a fault of the daemon, unless one was injected. */
  fault(detail: string): void {
    if (!this.isDisturbed) this.#violations.add(`attack ${this.#name} fails`, detail);
  }

  expect(holds: boolean, detail: string): void {
    if (!holds) this.fault(detail);
  }

  /**
   * Sends a request; whatever comes back must be a well-formed answer.
   *
   * @param statuses those that the scenario may be answered with; any but 500 where not given
   */
  async ask(outgoing: Outgoing, statuses?: readonly number[]): Promise<Answer | null> {
    this.tried += 1;
    try {
      const answer = await ask(this.arms.url, { timeout: this.arms.patience, ...outgoing });
      for (const fault of answerFaults(outgoing.path, answer)) this.fault(fault);
      if (statuses !== undefined && !statuses.includes(answer.status)) {
        const told = answer.body.subarray(0, 200).toString();
        this.fault(`${answer.status}, expected ${statuses.join(' or ')}: ${told}`);
      }
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.fault(`${outgoing.method ?? 'GET'} ${outgoing.path}: ${error.message}`);
      return null;
    }
  }

  /** A connection on which anything can be written. */
  async socket(options: { readonly halfOpen?: boolean } = {}): Promise<Raw> {
    this.tried += 1;
    const { hostname, port } = new URL(this.arms.url);
    const socket = connect({
      port: Number(port),
      host: hostname,
      allowHalfOpen: options.halfOpen ?? false,
    });
    this.#sockets.push(socket);
    return new Raw(socket);
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A connection that reads only when it is told to. */
export class Raw {
  readonly socket: Socket;
  text = '';
  bytes = 0;
  closed = false;
  readonly #close: Promise<void>;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    this.#close = new Promise((resolve) => {
      socket.on('close', () => {
        this.closed = true;
        resolve();
      });
    });
  }

  write(data: string | Buffer): void {
    if (!this.socket.destroyed) this.socket.write(data);
  }

  /** Begins to read; what has come is kept as text, up to its first 100 KB. */
  read(): void {
    this.socket.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.text.length < 100_000) this.text += chunk.toString('latin1');
    });
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** @returns whether the server closed the connection in that time */
  async closes(milliseconds: number): Promise<boolean> {
    await Promise.race([this.#close, sleep(milliseconds)]);
    return this.closed;
  }
}

/** Does something with so many at once. */
export async function together(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, worker));
}

/** Answers with which load may be turned away. */
export const TURNED_AWAY = [429, 503] as const;
