import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Failure } from '../failure.ts';
import { bytesOf } from './answer.ts';
import type { Cancelled } from './cancellation.ts';
import type { Exchange } from './exchange.ts';
import { abortedFailure } from './failures.ts';

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);

/**
 * The answer in clear, for servers that compress although they were asked not to.
 *
 * @throws Failure where nobody knows the encoding
 */
export function inClear(answer: Exchange, server: string, signal: Cancelled): Exchange {
  const encoding = answer.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return answer;
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined) {
    answer.abort();
    throw unreadable(`${server} answered in an encoding that it was not asked for`);
  }
  return new Decoded(answer, decoder(), server, signal);
}

function unreadable(message: string, cause?: unknown): Failure {
  return new Failure('service_error', message, { code: 'upstream_answer_unreadable', cause });
}

class Decoded implements Exchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #answer: Exchange;
  readonly #decoder: Transform;
  readonly #server: string;
  readonly #signal: Cancelled;
  #settle: ((failure?: unknown) => void) | null = null;

  constructor(answer: Exchange, decoder: Transform, server: string, signal: Cancelled) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.#answer = answer;
    this.#decoder = decoder;
    this.#server = server;
    this.#signal = signal;
  }

  read(onData: (chunk: Buffer) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = (failure) => {
        this.#settle = null;
        this.#signal.removeEventListener('abort', this.#onAbort);
        this.#decoder.destroy();
        if (failure === undefined) return resolve();
        this.#answer.abort();
        reject(failure);
      };
      // All may have come from the server while the reader still takes it.
      this.#signal.addEventListener('abort', this.#onAbort);
      this.#decoder
        .on('data', (chunk: Buffer) => {
          try {
            if (!onData(chunk)) this.#decoder.pause();
          } catch (error) {
            this.#settle?.(error);
          }
        })
        .on('drain', () => this.#answer.resume())
        .on('end', () => this.#settle?.())
        .on('error', (error) => {
          this.#settle?.(unreadable(`${this.#server} sent what cannot be decompressed`, error));
        });
      this.#answer
        .read((chunk) => this.#decoder.write(chunk))
        .then(
          () => this.#decoder.end(),
          (failure: unknown) => this.#settle?.(failure),
        );
    });
  }

  bytes(limit: number): Promise<Buffer> {
    return bytesOf(this, this.#server, limit);
  }

  resume(): void {
    this.#decoder.resume();
  }

  abort(): void {
    this.#answer.abort();
    this.#settle?.(abortedFailure(this.#server));
    this.#decoder.destroy();
  }

  readonly #onAbort = (): void => {
    this.#settle?.(abortedFailure(this.#server, this.#signal.reason));
  };
}
