import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerFaults } from '../answer.ts';
import { type Answer, ask, type FormPart, form, NoAnswer, type Outgoing } from '../client.ts';
import type { Outages } from '../outages.ts';
import type { Random } from '../random.ts';
import type { Violations } from '../violations.ts';

/** A bounded hostile scenario, and the expected result. */
export interface Attack {
  readonly name: string;
  /** Description for the report. */
  readonly summary: string;
  run(attacker: Attacker): Promise<void>;
}

/** Keys of attackers (paid ones with high limits, a free one), and the settings of the daemon that they know. */
export interface AttackContext {
  readonly url: string;
  readonly keys: readonly string[];
  readonly freeKey: string;
  /** Path of a file of several megabytes. */
  readonly asset: string;
  readonly sendTimeout: number;
  readonly requestTimeout: number;
  /** Milliseconds without a response after which a request counts as hanging. */
  readonly hangTimeout: number;
}

/** One run of a scenario: counts its requests and reports violations. */
export class Attacker {
  readonly context: AttackContext;
  readonly random: Random;
  readonly #name: string;
  readonly #outages: Outages;
  readonly #violations: Violations;
  readonly #started = performance.now();
  readonly #sockets: Socket[] = [];
  requests = 0;

  constructor(
    name: string,
    context: AttackContext,
    random: Random,
    outages: Outages,
    violations: Violations,
  ) {
    this.#name = name;
    this.context = context;
    this.random = random;
    this.#outages = outages;
    this.#violations = violations;
  }

  get key(): string {
    return this.random.pick(this.context.keys);
  }

  /** Whether a fault was injected since the scenario began, which excuses failures. */
  get isDisturbed(): boolean {
    return this.#outages.scopesBetween(this.#started, performance.now()).size > 0;
  }

  /** Reports a violation, unless a fault was injected meanwhile. */
  fault(detail: string): void {
    if (!this.isDisturbed) this.#violations.add(`attack ${this.#name} fails`, detail);
  }

  expect(holds: boolean, detail: string): void {
    if (!holds) this.fault(detail);
  }

  /**
   * Sends a request, and checks that the response is well-formed.
   *
   * @param statuses expected statuses; any but 500 where not given
   */
  async ask(outgoing: Outgoing, statuses?: readonly number[]): Promise<Answer | null> {
    this.requests += 1;
    try {
      const answer = await ask(this.context.url, {
        timeout: this.context.hangTimeout,
        ...outgoing,
      });
      for (const fault of answerFaults(outgoing.path, answer)) this.fault(fault);
      if (statuses !== undefined && !statuses.includes(answer.status)) {
        const text = answer.body.subarray(0, 200).toString();
        this.fault(`${answer.status}, expected ${statuses.join(' or ')}: ${text}`);
      }
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.fault(`${outgoing.method ?? 'GET'} ${outgoing.path}: ${error.message}`);
      return null;
    }
  }

  /**
   * Sends an object as JSON, text as it is, or the parts of a form.
   *
   * @param statuses expected statuses, beside those of overload; any but 500 where not given
   */
  post(
    path: string,
    content: object | string | readonly FormPart[],
    statuses?: readonly number[],
    more: Partial<Outgoing> = {},
  ): Promise<Answer | null> {
    const body = Array.isArray(content) ? form(content) : { body: content };
    const expected = statuses && [...statuses, ...OVERLOAD_STATUSES];
    return this.ask({ method: 'POST', path, key: this.key, ...body, ...more }, expected);
  }

  /** Opens a TCP connection for arbitrary bytes. */
  connection(allowHalfOpen = false): Raw {
    this.requests += 1;
    const { hostname, port } = new URL(this.context.url);
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
    this.#sockets.push(socket);
    return new Raw(socket);
  }

  /** Opens connections that send bytes. */
  connections(count: number, bytesOf: (index: number) => string, allowHalfOpen = false): Raw[] {
    return Array.from({ length: count }, (_, index) => {
      const connection = this.connection(allowHalfOpen);
      connection.write(bytesOf(index));
      return connection;
    });
  }

  /** The head of a request up to its own headers. */
  head(method: string, path: string): string {
    return `${method} ${path} HTTP/1.1\r\nHost: oriel\r\nAuthorization: Bearer ${this.key}\r\n`;
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A connection that reads only after `read()`. */
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

  /** Begins to read; keeps the first 100 KB as text. */
  read(): void {
    this.socket.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.text.length < 100_000) this.text += chunk.toString('latin1');
    });
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** @returns whether the server closes the connection within that time */
  async closes(milliseconds: number): Promise<boolean> {
    await Promise.race([this.#close, sleep(milliseconds)]);
    return this.closed;
  }
}

/** Runs work `count` times, `atOnce` of them concurrently. */
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

/** Statuses that overload may have. */
const OVERLOAD_STATUSES = [429, 503] as const;
