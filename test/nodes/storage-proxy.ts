import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../bench/free-port.ts';

const SLOW_DOWN =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>';

/** Forwards connections to a bucket's service, and refuses them or their requests while a test wants it. */
export class StorageProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  readonly #overloaded = createHttpServer((request, response) => {
    request.resume();
    response.on('error', () => {});
    response.writeHead(503, { 'content-type': 'application/xml' }).end(SLOW_DOWN);
  });
  #server: Server;
  readonly #port: number;
  #isOverloaded = false;

  private constructor(target: string, ownPort: number) {
    const { hostname, port } = new URL(target);
    this.#port = ownPort;
    this.#target = { host: hostname, port: Number(port) };
    this.#server = this.#newServer();
  }

  /** @param target URL of the service */
  static async open(target: string): Promise<StorageProxy> {
    const proxy = new StorageProxy(target, await freePort());
    await proxy.accept();
    return proxy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Forwards again. */
  async accept(): Promise<void> {
    if (this.#isOverloaded) this.#disconnect();
    this.#isOverloaded = false;
    if (this.#server.listening) return;
    this.#server = this.#newServer();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Ends all connections; new ones are refused by the system. */
  refuse(): void {
    this.#server.close();
    this.#disconnect();
  }

  /** Answers each request with 503 `SlowDown`. */
  overload(): void {
    this.#isOverloaded = true;
    this.#disconnect();
  }

  #newServer(): Server {
    return createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
      if (this.#isOverloaded) this.#overloaded.emit('connection', socket);
      else this.#forward(socket);
    });
  }

  #forward(socket: Socket): void {
    const upstream = connect(this.#target);
    upstream.on('error', () => socket.destroy());
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  }

  #disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
