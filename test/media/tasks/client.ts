import { setTimeout as delay } from 'node:timers/promises';
import type { TestDaemon } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { newKey } from '../../text/gateway-daemon.ts';
import type { MockProvider } from '../mock-provider.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
}

/** The task record that clients get. */
export interface Shown {
  readonly task_id: string;
  readonly status: string;
  readonly model: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: its shape depends on the type
  readonly result: any;
  readonly error: { readonly type: string; readonly message: string; readonly code: string } | null;
}

/** What an account holds and has spent, in credits. */
export interface Credits {
  readonly granted: number;
  readonly reserved: number;
  readonly spent: number;
  readonly available: number;
}

export const GENERATIONS = '/v1/images/generations';
export const EDITS = '/v1/images/edits';

let accounts = 0;

/** Somebody with an account of the daemon's and a key for it. */
export class Client {
  readonly #daemon: Pick<TestDaemon, 'url'>;
  readonly key: string;

  constructor(daemon: Pick<TestDaemon, 'url'>, key: string) {
    this.#daemon = daemon;
    this.key = key;
  }

  static async of(daemon: TestDaemon, options: Parameters<typeof newKey>[2] = {}): Promise<Client> {
    accounts += 1;
    return new Client(daemon, await newKey(daemon, `account-${accounts}`, options));
  }

  /** The same one, at a daemon that was started anew. */
  at(daemon: Pick<TestDaemon, 'url'>): Client {
    return new Client(daemon, this.key);
  }

  async ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${this.key}`);
    const response = await fetch(new URL(path, this.#daemon.url), { ...init, headers });
    const { status } = response;
    return { status, headers: response.headers, body: await response.json() };
  }

  /** Posts JSON. A string is the Idempotency-Key that goes with it. */
  post(path: string, body: object, idempotencyKey?: string, init: RequestInit = {}) {
    return this.ask(path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
      ...init,
    });
  }

  /** Posts a form; bytes are files. */
  form(path: string, fields: readonly (readonly [string, string | Buffer])[], key?: string) {
    const body = new FormData();
    for (const [name, value] of fields) {
      if (typeof value === 'string') body.append(name, value);
      else body.append(name, new Blob([new Uint8Array(value)]), 'file');
    }
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return this.ask(path, { method: 'POST', headers, body });
  }

  /** Starts an image task, and returns its id. */
  async begin(body: object, path = GENERATIONS): Promise<string> {
    const answer = await this.post(path, { prompt: 'a lighthouse', ...body });
    if (answer.status !== 202) {
      throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return answer.body.task_id;
  }

  async look(id: string): Promise<Shown> {
    return (await this.ask(`/v1/tasks/${id}`)).body as Shown;
  }

  /** Waits for a task to be in another state than those that it goes through. */
  ended(id: string): Promise<Shown> {
    return this.seen(id, ({ status }) => status !== 'pending' && status !== 'processing');
  }

  async seen(id: string, wanted: (task: Shown) => boolean): Promise<Shown> {
    // Most are soon over; others wait for seconds.
    for (let pause = 10; ; pause = Math.min(1.5 * pause, 200)) {
      const task = await this.look(id);
      if (wanted(task)) return task;
      await delay(pause);
    }
  }

  /** Has something made, and waits for its end. */
  async make(body: object, path = GENERATIONS): Promise<Shown> {
    return this.ended(await this.begin(body, path));
  }

  async credits(): Promise<Credits> {
    return (await this.ask('/v1/account')).body.credits;
  }

  /** The lines about a task, in the order of their making: type and amount. */
  async ledger(taskId: string): Promise<readonly (readonly [string, number])[]> {
    const { body } = await this.ask('/v1/account/credits?limit=100');
    const lines = body.data as { type: string; amount: number; task_id: string | null }[];
    return lines
      .filter(({ task_id }) => task_id === taskId)
      .map(({ type, amount }) => [type, amount] as const)
      .reverse();
  }
}

/** An image task whose provider has its request, and answers once `held` is opened. */
export async function heldTask(provider: MockProvider, client: Client, body: object) {
  const held = gate();
  const endpoint = 'POST /images/generations';
  provider.next(endpoint, { wait: held.passed });
  const id = await client.begin(body);
  await provider.received(endpoint);
  return { held, id };
}
