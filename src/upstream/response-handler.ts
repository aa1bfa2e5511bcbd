import type { Dispatcher } from 'undici';
import { codedFailure } from '../failure.ts';
import type { AbortSignalLike } from './abort-signal.ts';
import { abortedFailure, networkFailure, type RequestPhase, timeoutFailure } from './failures.ts';
import type { Timeouts, UpstreamRequest } from './request.ts';
import type { UpstreamResponse } from './response.ts';

/** Bytes that are buffered before undici is paused, while there is no reader or it pauses. */
const BUFFER_BYTES = 64 * 1024;

/** The longest delay of a Node timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const ABORTED = new Error('aborted');

/** Settles once: when the response headers are here, or never will be. */
interface HeadersPromise {
  resolve(response: ResponseHandler): void;
  reject(error: unknown): void;
}

/**
 * One request under way and its response: undici's dispatch handler, and the response that the reader
 * holds. Undici's own body would be a stream, which costs more than all of this.
 */
export class ResponseHandler implements UpstreamResponse, Dispatcher.DispatchHandler {
  status = 0;
  headers: Readonly<Record<string, string>> = {};

  readonly #server: string;
  readonly #timeouts: Timeouts;
  readonly #signal: AbortSignalLike;
  readonly #headersPromise: HeadersPromise;
  readonly #startedAt = performance.now();
  #phase: RequestPhase = 'connecting';
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Time at which the timer fires. */
  #timerAt = Infinity;
  /** Time of the last progress. */
  #lastProgressAt = 0;

  #onData: ((chunk: Buffer) => boolean) | null = null;
  #readPromise: { resolve(): void; reject(error: unknown): void } | null = null;
  /** Chunks that arrived before the reader did, or while it paused. */
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #paused = false;
  /** The whole body has arrived; some of it may still be buffered. */
  #complete = false;
  /** The response has ended, failed or been aborted. */
  #settled = false;
  #failure: unknown;

  constructor(
    server: string,
    { timeouts, signal }: UpstreamRequest,
    headersPromise: HeadersPromise,
  ) {
    this.#server = server;
    this.#timeouts = timeouts;
    this.#signal = signal;
    this.#headersPromise = headersPromise;
    signal.addEventListener('abort', this.#onAbort);
    this.#checkTimeouts();
  }

  // Dispatcher.DispatchHandler

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(ABORTED);
    else this.#phase = 'sent';
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Informational responses such as 103 precede the final one.
    if (status < 200 || this.#settled) return;
    this.status = status;
    for (const name in headers) {
      const value = headers[name];
      if (Array.isArray(value)) headers[name] = value.join(', ');
    }
    this.headers = headers as Record<string, string>;
    this.#phase = 'responding';
    this.#lastProgressAt = performance.now();
    this.#headersPromise.resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Undici flushes its parser on resume with an empty chunk. A reader that paused at that and
    // resumed at once would loop for ever and starve the event loop.
    if (this.#settled || chunk.length === 0) return;
    this.#lastProgressAt = performance.now();
    if (this.#onData !== null && !this.#paused && this.#buffered.length === 0) {
      this.#deliver(chunk);
      if (this.#paused) controller.pause();
      return;
    }
    this.#buffered.push(withoutRest(chunk));
    this.#bufferedBytes += chunk.length;
    if (this.#bufferedBytes >= BUFFER_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    this.#complete = true;
    clearTimeout(this.#timer);
    if (this.#onData !== null && this.#buffered.length === 0) this.#finish();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(networkFailure(error, this.#server, this.#phase));
  }

  // UpstreamResponse

  read(onData: (chunk: Buffer) => boolean): Promise<void> {
    if (this.#onData !== null) throw new Error('A response is read once');
    this.#onData = onData;
    return new Promise((resolve, reject) => {
      this.#readPromise = { resolve, reject };
      if (this.#settled) reject(this.#failure);
      else this.#flush();
      // Most whole answers arrive with their headers, and need no timer for what is still to come.
      if (!this.#settled && !this.#complete) this.#checkTimeouts();
    });
  }

  bytes(limit: number): Promise<Buffer> {
    return readBytes(this, this.#server, limit);
  }

  resume(): void {
    if (!this.#paused || this.#settled) return;
    this.#paused = false;
    this.#lastProgressAt = performance.now();
    // Undici's parser is not re-entrant, not even for another response.
    queueMicrotask(() => this.#flush());
  }

  abort(): void {
    if (!this.#settled) this.#abort(abortedFailure(this.#server));
  }

  #deliver(chunk: Buffer): void {
    try {
      if (!this.#onData!(chunk)) this.#paused = true;
    } catch (error) {
      this.#abort(error);
    }
  }

  #flush(): void {
    while (this.#buffered.length > 0) {
      if (this.#paused || this.#settled) return;
      const chunk = this.#buffered.shift()!;
      this.#bufferedBytes -= chunk.length;
      this.#deliver(chunk);
    }
    if (this.#paused || this.#settled) return;
    if (this.#complete) this.#finish();
    else if (this.#controller!.paused) queueMicrotask(() => this.#controller!.resume());
  }

  #finish(): void {
    // A reader that paused at the last chunk gets the end when it resumes.
    if (this.#paused || this.#settled) return;
    this.#settle();
    this.#readPromise!.resolve();
  }

  #fail(failure: unknown): void {
    if (this.#settled) return;
    this.#settle();
    this.#failure = failure;
    this.#buffered = [];
    if (this.#phase !== 'responding') this.#headersPromise.reject(failure);
    else this.#readPromise?.reject(failure);
  }

  #abort(failure: unknown): void {
    this.#fail(failure);
    this.#controller?.abort(ABORTED);
  }

  readonly #onAbort = (): void => {
    this.#abort(abortedFailure(this.#server, this.#signal.reason));
  };

  /** One timer serves whichever timeout is next; chunks only record their time. */
  #checkTimeouts(): void {
    const now = performance.now();
    const { firstByte, idle, total } = this.#timeouts;
    const responding = this.#phase === 'responding';
    const readerIsSlow = this.#paused || this.#buffered.length > 0;
    const end = timeoutAt(this.#startedAt, total);
    const next = responding
      ? timeoutAt(readerIsSlow ? now : this.#lastProgressAt, idle)
      : timeoutAt(this.#startedAt, firstByte);
    if (now >= end) this.#abort(timeoutFailure('total', this.#server));
    else if (now >= next) {
      this.#abort(timeoutFailure(responding ? 'idle' : 'first_byte', this.#server));
    } else this.#setTimer(now, Math.min(end, next));
  }

  /** Keeps a timer that fires earlier: most responses end before it does. */
  #setTimer(now: number, at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(this.#onTimer, Math.min(at - now, MAX_TIMER_MS));
  }

  readonly #onTimer = (): void => {
    this.#timerAt = Infinity;
    this.#checkTimeouts();
  };

  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}

function timeoutAt(start: number, timeout: number): number {
  return timeout === 0 ? Infinity : start + timeout;
}

/** A chunk of a few bytes keeps the 64 KB in which it has arrived, where an extension of it may have the rest. */
const withoutRest = (chunk: Buffer) =>
  chunk.length * 8 < chunk.buffer.byteLength ? Buffer.from(chunk) : chunk;

/** Reads a whole body. @throws Failure where it has more bytes than the limit */
export function readBytes(
  response: Pick<UpstreamResponse, 'read'>,
  server: string,
  limit: number,
): Promise<Buffer> {
  // One buffer: a body of chunks of one byte each would otherwise need a hundred times its size.
  let bytes: Buffer = Buffer.alloc(0);
  let size = 0;
  const reading = response.read((chunk) => {
    const before = size;
    size += chunk.length;
    if (size > limit) {
      const message = `${server} sent an answer of over ${limit} bytes`;
      throw codedFailure('upstream_answer_too_large', message);
    }
    if (before === 0) bytes = chunk;
    else {
      if (size > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.min(2 * size, limit));
        larger.set(bytes.subarray(0, before));
        bytes = larger;
      }
      bytes.set(chunk, before);
    }
    return true;
  });
  return reading.then(() => bytes.subarray(0, size));
}
