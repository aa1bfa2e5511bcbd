import type { FastifyReply } from 'fastify';
import type { ResponseStream } from '../../text/relay/response-stream.ts';
import { atEndOfTick } from './tick.ts';

/** Milliseconds of silence after which a comment keeps proxies from giving the connection up. */
const KEEP_ALIVE = 15_000;

/** A comment, which clients pass over. */
const COMMENT = ': keep-alive\n\n';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would collect the stream before it passes it on.
  'x-accel-buffering': 'no',
} as const;

/** The stream of one answer. Nothing is sent before there is something to say. */
export class SseResponse implements ResponseStream {
  readonly #reply: FastifyReply;
  #silence: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;
  #begun = false;
  #waiting: (string | Buffer)[] = [];
  /** Their length, about: of texts in characters. */
  #waits = 0;

  /** @param stream whether the client asked for one: it is kept alive from the start */
  constructor(reply: FastifyReply) {
    this.#reply = reply;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** The client waits for a stream: from now on it hears of us at intervals. */
  keepAlive(): void {
    this.#silence = setTimeout(() => this.write(COMMENT), KEEP_ALIVE);
  }

  announce(name: string, value: string): void {
    if (!this.#begun) this.#reply.header(name, value);
  }

  write(frames: string | Buffer): boolean {
    const { raw } = this.#reply;
    if (!this.#begun) this.#begin();
    if (this.#waiting.length === 0) atEndOfTick(this.#flush);
    this.#waiting.push(frames);
    this.#waits += frames.length;
    return raw.writableLength + this.#waits < raw.writableHighWaterMark;
  }

  /** Pieces of one turn of the event loop leave together, of this stream and of all others. */
  readonly #flush = (): void => {
    const pieces = this.#waiting;
    if (pieces.length === 0) return;
    this.#waiting = [];
    this.#waits = 0;
    this.#silence?.refresh();
    const { raw } = this.#reply;
    if (pieces.length > 1) raw.cork();
    for (const piece of pieces) raw.write(piece);
    if (pieces.length > 1) raw.uncork();
  };

  async drained(): Promise<void> {
    const { raw } = this.#reply;
    this.#flush();
    if (!raw.writableNeedDrain || raw.destroyed) return;
    this.#drained ??= new Promise((resolve) => {
      const done = () => {
        raw.off('drain', done);
        raw.off('close', done);
        this.#drained = undefined;
        resolve();
      };
      raw.on('drain', done);
      raw.on('close', done);
    });
    await this.#drained;
  }

  /** Nothing more comes. */
  end(): void {
    clearTimeout(this.#silence);
    this.#flush();
    if (this.#begun && !this.#reply.raw.writableEnded) this.#reply.raw.end();
  }

  #begin(): void {
    this.#begun = true;
    const { raw } = this.#reply;
    // What hooks have set so far is kept by Fastify, which does not send this answer.
    const headers = { ...this.#reply.getHeaders(), ...HEADERS };
    this.#reply.hijack();
    raw.writeHead(200, headers as Record<string, string>);
  }
}
