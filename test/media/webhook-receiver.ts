import { EventEmitter, once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Webhook } from 'standardwebhooks';
import { type OpenServer, openServer } from '../fixtures/open-server.ts';

/** What a receiver does with a callback. */
export type Reply =
  /** Answers so, with a body where one is given. */
  | {
      readonly status: number;
      readonly body?: string | Buffer;
      readonly headers?: Readonly<Record<string, string>>;
      /** Milliseconds before it does. */
      readonly after?: number;
    }
  /** Keeps the request without an answer. */
  | 'never'
  /** Closes the connection. */
  | 'hangs up';

/** A callback as it came. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A receiver of callbacks, which answers as the test sets. */
export class WebhookReceiver {
  /** In the order of their coming. */
  readonly received: Received[] = [];
  /** What it does with the nth callback, counted from 1. */
  reply: (nth: number, received: Received) => Reply;
  readonly #server = createServer((request, response) => {
    // A callback that is cut short was none.
    this.#receive(request, response).catch(() => {});
  });
  #open: OpenServer | undefined;
  readonly #arrivals = new EventEmitter().setMaxListeners(0);
  #answering = 0;
  #most = 0;

  private constructor(reply: WebhookReceiver['reply']) {
    this.reply = reply;
  }

  /** @param reply 204 to everything unless said */
  static async open(
    reply: WebhookReceiver['reply'] = () => ({ status: 204 }),
  ): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(reply);
    receiver.#open = await openServer(receiver.#server);
    return receiver;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** `http://127.0.0.1:4711/hook` */
  get url(): string {
    return `${this.#open!.url}/hook`;
  }

  /** The most callbacks that waited for an answer at once. */
  get most(): number {
    return this.#most;
  }

  /** Waits for the nth callback, counted from 1. */
  async nth(count: number): Promise<Received> {
    while (this.received.length < count) await once(this.#arrivals, 'arrival');
    return this.received[count - 1]!;
  }

  /**
   * The payload of a callback.
   *
   * @param secret `whsec_…`
   * @throws WebhookVerificationError where it is not signed with that
   */
  static verified(secret: string, { body, headers, at }: Received): unknown {
    const { now } = Date;
    // The library refuses what is older than five minutes: what counts is the time at which it came.
    Date.now = () => at;
    try {
      return new Webhook(secret).verify(body, headers as Record<string, string>);
    } finally {
      Date.now = now;
    }
  }

  async close(): Promise<void> {
    await this.#open!.close();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.received.push({
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      at: Date.now(),
    });
    this.#answering += 1;
    this.#most = Math.max(this.#most, this.#answering);
    response.once('close', () => {
      this.#answering -= 1;
    });
    const nth = this.received.length;
    const reply = this.reply(nth, this.received[nth - 1]!);
    if (reply === 'hangs up') request.socket.destroy();
    else if (reply !== 'never') {
      const answer = () => response.writeHead(reply.status, reply.headers).end(reply.body);
      if (reply.after === undefined) answer();
      else setTimeout(answer, reply.after).unref();
    }
    this.#arrivals.emit('arrival');
  }
}
