import type { Dispatcher } from 'undici';
import { Failure } from '../failure.ts';
import type { Cancelled } from './cancellation.ts';
import type { Exchange, ExchangeOptions, Timeouts } from './exchange.ts';
import { abortedFailure, lateFailure, networkFailure, type Progress } from './failures.ts';

/** Bytes that may wait for a reader that has yet to come. */
const HELD = 64 * 1024;

/** The longest that a timer of Node can wait. */
const LONGEST = 2 ** 31 - 1;

const LET_GO = new Error('let go');

/** Settles once, when the headers are here or will never be. */
export interface Opening {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * One request on its way, and its answer: what undici calls as things happen, and what the reader
 * holds. Undici's own body would be a stream, which costs more than all of this.
 */
export class Answer implements Exchange, Dispatcher.DispatchHandler {
  status = 0;
  headers: Readonly<Record<string, string>> = {};

  readonly #server: string;
  readonly #timeouts: Timeouts;
  readonly #signal: Cancelled;
  readonly #opening: Opening;
  readonly #started = performance.now();
  #progress: Progress = 'connecting';
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer looks again. */
  #due = Infinity;
  /** When something came last. */
  #touched = 0;

  #reader: ((chunk: Buffer) => boolean) | null = null;
  #reading: { resolve(): void; reject(error: unknown): void } | null = null;
  /** What came before its reader, or while it paused. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #paused = false;
  /** All has come; some of it may still be held. */
  #complete = false;
  /** Nothing more is to happen. */
  #over = false;
  #failure: unknown;

  constructor(server: string, { timeouts, signal }: ExchangeOptions, opening: Opening) {
    this.#server = server;
    this.#timeouts = timeouts;
    this.#signal = signal;
    this.#opening = opening;
    signal.addEventListener('abort', this.#onAbort);
    this.#watch();
  }

  // What undici calls.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(LET_GO);
    else this.#progress = 'sent';
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Early hints and their like: the answer is still to come.
    if (status < 200 || this.#over) return;
    this.status = status;
    for (const name in headers) {
      const value = headers[name];
      if (Array.isArray(value)) headers[name] = value.join(', ');
    }
    this.headers = headers as Record<string, string>;
    this.#progress = 'answering';
    this.#touched = performance.now();
    this.#watch();
    this.#opening.resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Undici flushes its parser when it goes on, which tells of nothing. A reader that paused at that
    // and went on at once would do so for ever, and nothing else would have its turn.
    if (this.#over || chunk.length === 0) return;
    this.#touched = performance.now();
    if (this.#reader !== null && !this.#paused && this.#held.length === 0) {
      this.#deliver(chunk);
      if (this.#paused) controller.pause();
      return;
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= HELD) controller.pause();
  }

  onResponseEnd(): void {
    this.#complete = true;
    clearTimeout(this.#timer);
    if (this.#reader !== null && this.#held.length === 0) this.#finish();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(networkFailure(error, this.#server, this.#progress));
  }

  // What the reader calls.

  read(onData: (chunk: Buffer) => boolean): Promise<void> {
    if (this.#reader !== null) throw new Error('An answer is read once');
    this.#reader = onData;
    return new Promise((resolve, reject) => {
      this.#reading = { resolve, reject };
      if (this.#over) reject(this.#failure);
      else this.#flow();
    });
  }

  bytes(limit: number): Promise<Buffer> {
    return bytesOf(this, this.#server, limit);
  }

  resume(): void {
    if (!this.#paused || this.#over) return;
    this.#paused = false;
    this.#touched = performance.now();
    // Undici's parser must not be entered while it is at work, be it for another answer.
    queueMicrotask(() => this.#flow());
  }

  abort(): void {
    if (!this.#over) this.#letGo(abortedFailure(this.#server));
  }

  // What follows.

  #deliver(chunk: Buffer): void {
    try {
      if (!this.#reader!(chunk)) this.#paused = true;
    } catch (error) {
      this.#letGo(error);
    }
  }

  #flow(): void {
    while (this.#held.length > 0) {
      if (this.#paused || this.#over) return;
      const chunk = this.#held.shift()!;
      this.#heldBytes -= chunk.length;
      this.#deliver(chunk);
    }
    if (this.#paused || this.#over) return;
    if (this.#complete) this.#finish();
    else if (this.#controller!.paused) queueMicrotask(() => this.#controller!.resume());
  }

  #finish(): void {
    // A reader may stop at the last piece, and be told of the end when it takes more.
    if (this.#paused || this.#over) return;
    this.#end();
    this.#reading!.resolve();
  }

  #fail(failure: unknown): void {
    if (this.#over) return;
    this.#end();
    this.#failure = failure;
    this.#held = [];
    if (this.#progress !== 'answering') this.#opening.reject(failure);
    else this.#reading?.reject(failure);
  }

  #letGo(failure: unknown): void {
    this.#fail(failure);
    this.#controller?.abort(LET_GO);
  }

  readonly #onAbort = (): void => {
    this.#letGo(abortedFailure(this.#server, this.#signal.reason));
  };

  /** One timer for whichever limit is next. Pieces only note when they came. */
  #watch(): void {
    const now = performance.now();
    const { firstByte, idle, total } = this.#timeouts;
    const answering = this.#progress === 'answering';
    const waits = this.#paused || this.#held.length > 0;
    const end = limitAfter(this.#started, total);
    const next = answering
      ? limitAfter(waits ? now : this.#touched, idle)
      : limitAfter(this.#started, firstByte);
    if (now >= end) this.#letGo(lateFailure('total', this.#server));
    else if (now >= next) this.#letGo(lateFailure(answering ? 'idle' : 'first_byte', this.#server));
    else this.#look(now, Math.min(end, next));
  }

  /** Sets the timer, unless it looks early enough by itself: most answers are over before it does. */
  #look(now: number, at: number): void {
    if (at >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = at;
    this.#timer = setTimeout(this.#onTimer, Math.min(at - now, LONGEST));
  }

  readonly #onTimer = (): void => {
    this.#due = Infinity;
    this.#watch();
  };

  #end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}

function limitAfter(start: number, limit: number): number {
  return limit === 0 ? Infinity : start + limit;
}

/** All of an answer. @throws Failure where it has more bytes than the limit */
export async function bytesOf(
  answer: Pick<Exchange, 'read'>,
  server: string,
  limit: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await answer.read((chunk) => {
    size += chunk.length;
    if (size > limit) throw tooLarge(server, limit);
    chunks.push(chunk);
    return true;
  });
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
}

function tooLarge(server: string, limit: number): Failure {
  return new Failure('service_error', `The answer of ${server} has over ${limit} bytes`, {
    code: 'upstream_answer_too_large',
  });
}
