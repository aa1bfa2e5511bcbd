import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ResponseStream } from '../../text/relay/guarded-stream.ts';
import { bodyOf, reportFailure } from '../responses/errors.ts';
import { atEndOfTick } from './end-of-tick.ts';

/** Idle time after which a sign of life is sent, so that proxies keep the connection open. */
const KEEP_ALIVE_MS = 15_000;

/** Time before the last chunk of a stream that must arrive alone: Node's fetch joins chunks that arrive together. */
const LAST_CHUNK_MS = 50;

/** A server-sent event comment, which clients ignore. */
const COMMENT = ': keep-alive\n\n';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would buffer the stream.
  'x-accel-buffering': 'no',
} as const;

/** A response as server-sent events. Headers are sent with the first event or comment. */
export class SseResponse implements ResponseStream {
  readonly #reply: FastifyReply;
  readonly #signOfLife: string;
  readonly #copy: ((frames: string | Buffer) => void) | null;
  #idleTimer: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;
  onFirstFrame?: () => void;
  #started = false;
  #firstFrameMs: number | null = null;
  #waiting: (string | Buffer)[] = [];
  /** Length of the waiting frames, approximately: of texts in characters. */
  #waitingLength = 0;

  /**
   * @param signOfLife what an idle stream sends, in place of a comment
   * @param copy called with all other frames
   */
  constructor(
    reply: FastifyReply,
    signOfLife = COMMENT,
    copy: ((frames: string | Buffer) => void) | null = null,
  ) {
    this.#reply = reply;
    this.#signOfLife = signOfLife;
    this.#copy = copy;
  }

  /** Milliseconds from the arrival of the request to the first frame that is no sign of life; null before that. */
  get firstFrameMs(): number | null {
    return this.#firstFrameMs;
  }

  get started(): boolean {
    return this.#started;
  }

  get isBlocked(): boolean {
    return this.#drained !== undefined;
  }

  /** Sends a sign of life whenever the stream was idle for 15 s, from now on. */
  keepAlive(): void {
    this.#idleTimer = setTimeout(() => this.write(this.#signOfLife), KEEP_ALIVE_MS);
  }

  /** Sends no more signs of life, so that frames can be written in pieces. */
  endKeepAlive(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  setHeader(name: string, value: string | null): void {
    if (this.#started) return;
    if (value !== null) this.#reply.header(name, value);
    else if (this.#reply.hasHeader(name)) this.#reply.removeHeader(name);
  }

  write(frames: string | Buffer): boolean {
    const { raw } = this.#reply;
    if (!this.#started) this.#start();
    if (this.#firstFrameMs === null && frames !== this.#signOfLife) {
      this.#firstFrameMs = this.#reply.elapsedTime;
      this.onFirstFrame?.();
    }
    if (this.#copy !== null && frames !== this.#signOfLife) this.#copy(frames);
    if (this.#waiting.length === 0) atEndOfTick(this.#flush);
    this.#waiting.push(frames);
    this.#waitingLength += frames.length;
    return raw.writableLength + this.#waitingLength < raw.writableHighWaterMark;
  }

  /** Frames of one tick of the event loop are sent together, those of all streams. */
  readonly #flush = (): void => {
    const frames = this.#waiting;
    if (frames.length === 0) return;
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#idleTimer?.refresh();
    const { raw } = this.#reply;
    if (frames.length > 1) raw.cork();
    for (const frame of frames) raw.write(frame);
    if (frames.length > 1) raw.uncork();
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

  /** Sends the waiting frames and ends the stream. @param last text that is sent in a chunk of its own */
  end(last = ''): void {
    this.endKeepAlive();
    this.#flush();
    const { raw } = this.#reply;
    if (!this.#started || raw.writableEnded) return;
    if (last === '') raw.end();
    else setTimeout(() => raw.end(last), LAST_CHUNK_MS);
  }

  #start(): void {
    this.#started = true;
    const { raw } = this.#reply;
    // Hooks have set headers on Fastify's reply, which does not send this response.
    const headers = { ...this.#reply.getHeaders(), ...HEADERS };
    this.#reply.hijack();
    raw.writeHead(200, headers as Record<string, string>);
  }
}

/**
 * Sends server-sent events, and comments until the first of them. After a comment, a failure is an event;
 * within an event, it closes the connection.
 *
 * @param pieces of frames; a frame may come in several
 * @throws Failure before anything was sent
 */
export async function sendEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  pieces: AsyncIterable<string>,
): Promise<FastifyReply> {
  const stream = new SseResponse(reply);
  const { raw } = reply;
  let hasEvents = false;
  stream.keepAlive();
  try {
    for await (const piece of pieces) {
      if (!hasEvents) stream.endKeepAlive();
      hasEvents = true;
      if (!stream.write(piece)) await stream.drained();
      if (raw.destroyed) break;
    }
  } catch (error) {
    if (!stream.started) throw error;
    const failure = reportFailure(error, request);
    if (raw.destroyed) return reply;
    if (hasEvents) {
      // As Fastify does for streams: hooks do not run for a response that is cut.
      const line = { err: failure, requestId: request.id };
      request.log.warn(line, 'response terminated with an error with headers already sent');
      raw.destroy();
    } else {
      const body = { type: 'error', ...bodyOf(failure) };
      stream.write(`event: error\ndata: ${JSON.stringify(body)}\n\n`);
    }
  } finally {
    stream.end();
  }
  return reply;
}

/** A whole event. */
export function eventOf(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
