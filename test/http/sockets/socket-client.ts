import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { OWNER_KEY } from '../../daemon.ts';

// biome-ignore lint/suspicious/noExplicitAny: events of many shapes
type Event = any;

interface ClientOptions {
  readonly key?: string | null;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client of the WebSocket mode; the running test's end closes it. */
export class SocketClient {
  readonly web: WebSocket;
  readonly events: Event[] = [];
  /** Resolves with the code when the connection has closed. */
  readonly closed: Promise<number>;
  #wake: () => void = () => {};
  #read = 0;

  constructor(
    url: string,
    { key = OWNER_KEY, path = '/v1/responses', headers }: ClientOptions = {},
  ) {
    const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
    this.web = new WebSocket(url.replace(/^http/, 'ws') + path, {
      headers: { ...authorization, ...headers },
    });
    onTestFinished(() => {
      if (this.web.readyState !== WebSocket.CONNECTING) this.web.terminate();
    });
    this.web.on('error', () => {});
    this.web.on('message', (data) => {
      this.events.push(JSON.parse(String(data)));
      this.#wake();
    });
    this.closed = once(this.web, 'close').then(([code]) => {
      this.#wake();
      return code as number;
    });
  }

  static async open(url: string, options?: ClientOptions): Promise<SocketClient> {
    const client = new SocketClient(url, options);
    await once(client.web, 'open');
    return client;
  }

  /** The status and the body with which the daemon refuses to open the connection. */
  async refusal(): Promise<{ status: number; headers: Event; body: Event }> {
    const [request, response] = await once(this.web, 'unexpected-response');
    let text = '';
    for await (const chunk of response) text += chunk;
    request.destroy();
    const { statusCode: status, headers } = response;
    return { status, headers, body: JSON.parse(text) };
  }

  create(body: object): void {
    this.web.send(JSON.stringify({ type: 'response.create', ...body }));
  }

  /** Resolves with the next event that fits; those before are skipped. */
  async next(fits: (event: Event) => boolean): Promise<Event> {
    for (;;) {
      while (this.#read < this.events.length) {
        const event = this.events[this.#read++];
        if (fits(event)) return event;
      }
      if (this.web.readyState === WebSocket.CLOSED) throw new Error('the connection has closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The next event that ends a response or refuses a message. */
  end(): Promise<Event> {
    return this.next(
      ({ type }) => type === 'error' || /^response\.(completed|failed|incomplete)$/.test(type),
    );
  }
}
