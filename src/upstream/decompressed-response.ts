import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { codedFailure, type Failure } from '../failure.ts';
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

interface Compressed {
  readonly response: UpstreamResponse;
  readonly server: string;
  readonly signal: AbortSignalLike;
}

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
  return decompressedBy(decoder(), { response, server, signal });
}

function unreadable(message: string, cause?: unknown): Failure {
  return codedFailure('upstream_answer_unreadable', message, { cause });
}

function decompressedBy(
  decoder: Transform,
  { server, signal, response }: Compressed,
): UpstreamResponse {
  let settle: (failure?: unknown) => void = () => {};
  const onAbort = () => settle(abortedFailure(server, signal.reason));
  const read = (onData: (chunk: Buffer) => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      settle = (failure) => {
        settle = () => {};
        signal.removeEventListener('abort', onAbort);
        decoder.destroy();
        if (failure === undefined) return resolve();
        response.abort();
        reject(failure);
      };
      // The compressed response may have ended while the reader still takes decompressed chunks.
      signal.addEventListener('abort', onAbort);
      decoder
        .on('data', (chunk: Buffer) => {
          try {
            if (!onData(chunk)) decoder.pause();
          } catch (error) {
            settle(error);
          }
        })
        .on('drain', () => response.resume())
        .on('end', () => settle())
        .on('error', (error) => {
          settle(unreadable(`${server} sent what cannot be decompressed`, error));
        });
      response
        .read((chunk) => decoder.write(chunk))
        .then(
          () => decoder.end(),
          (failure: unknown) => settle(failure),
        );
    });
  return {
    status: response.status,
    headers: response.headers,
    read,
    bytes: (limit) => readBytes({ read }, server, limit),
    resume: () => decoder.resume(),
    abort() {
      response.abort();
      settle(abortedFailure(server));
      decoder.destroy();
    },
  };
}
