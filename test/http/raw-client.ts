import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection whose bytes the test writes itself; the running test's end closes it. */
export class RawClient {
  readonly socket: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #closed: Promise<void>;

  constructor({ url }: { readonly url: string }) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    onTestFinished(() => void this.socket.destroy());
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk) => this.#chunks.push(chunk));
    this.#closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.socket.write(bytes) || this.socket.destroyed) return;
    await this.#either('drain');
  }

  get received(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  /** Resolves when what has been received matches. */
  async receive(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.socket.destroyed) throw new Error(`closed after: ${this.received.slice(0, 500)}`);
      await this.#either('data');
    }
    return this.received;
  }

  /** Resolves at the next such event, or at the end. */
  async #either(event: 'drain' | 'data'): Promise<void> {
    await new Promise<void>((resolve) => {
      const settle = () => {
        this.socket.off(event, settle);
        this.socket.off('close', settle);
        resolve();
      };
      this.socket.on(event, settle);
      this.socket.on('close', settle);
    });
  }

  /** All that came until the connection was closed. */
  async whole(): Promise<string> {
    await this.#closed;
    return this.received;
  }
}

/** Sends bytes, and resolves with all that comes back until the server closes the connection. */
export function answerTo(server: { readonly url: string }, bytes: string | Uint8Array) {
  const client = new RawClient(server);
  void client.write(bytes);
  return client.whole();
}
