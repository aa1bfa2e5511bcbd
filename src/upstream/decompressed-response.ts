import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Failure } from '../failure.ts';
import type { AbortSignalLike } from './abort-signal.ts';
import { abortedFailure } from './failures.ts';
import type { UpstreamResponse } from './response.ts';
import { readBytes } from './response-handler.ts';

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);

/**
 * Decompresses the body where a server compressed it although `accept-encoding` was `identity`.
 *
 * @throws Failure where the encoding is unknown
 */
export function decompressed(
  response: UpstreamResponse,
  server: string,
  signal: AbortSignalLike,
): UpstreamResponse {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return response;
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined) {
    response.abort();
    throw unreadable(`${server} answered in an encoding that it was not asked for`);
  }
  return new DecompressedResponse(response, decoder(), server, signal);
}

function unreadable(message: string, cause?: unknown): Failure {
  return new Failure('service_error', message, { code: 'upstream_answer_unreadable', cause });
}

class DecompressedResponse implements UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #response: UpstreamResponse;
  readonly #decoder: Transform;
  readonly #server: string;
  readonly #signal: AbortSignalLike;
  #settle: ((failure?: unknown) => void) | null = null;

  constructor(
    response: UpstreamResponse,
    decoder: Transform,
    server: string,
    signal: AbortSignalLike,
  ) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
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
        this.#response.abort();
        reject(failure);
      };
      // The compressed response may have ended while the reader still takes decompressed chunks.
      this.#signal.addEventListener('abort', this.#onAbort);
      this.#decoder
        .on('data', (chunk: Buffer) => {
          try {
            if (!onData(chunk)) this.#decoder.pause();
          } catch (error) {
            this.#settle?.(error);
          }
        })
        .on('drain', () => this.#response.resume())
        .on('end', () => this.#settle?.())
        .on('error', (error) => {
          this.#settle?.(unreadable(`${this.#server} sent what cannot be decompressed`, error));
        });
      this.#response
        .read((chunk) => this.#decoder.write(chunk))
        .then(
          () => this.#decoder.end(),
          (failure: unknown) => this.#settle?.(failure),
        );
    });
  }

  bytes(limit: number): Promise<Buffer> {
    return readBytes(this, this.#server, limit);
  }

  resume(): void {
    this.#decoder.resume();
  }

  abort(): void {
    this.#response.abort();
    this.#settle?.(abortedFailure(this.#server));
    this.#decoder.destroy();
  }

  readonly #onAbort = (): void => {
    this.#settle?.(abortedFailure(this.#server, this.#signal.reason));
  };
}
