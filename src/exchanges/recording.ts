import { Failure } from '../failure.ts';
import type { UpstreamResponse } from '../upstream/response.ts';
import type { RecordedAnswer, RecordedFailure } from './exchange.ts';

/** Headers of an answer that the gateway reads. Cookies and account identifiers are in others. */
const HEADERS = ['content-type', 'location', 'retry-after', 'retry-after-ms'];

/** Called once when an answer has ended; with null where it is too large to be kept. */
type OnEnd = (answer: RecordedAnswer | null) => void;

/** The record of an answer that never began. @param startedAt in `performance.now()` */
export function unansweredBy(failure: Failure, startedAt: number): RecordedAnswer {
  const times = [elapsed(startedAt)];
  return { status: 0, headers: {}, chunks: [], times, end: recorded(failure) };
}

interface RecordingOptions {
  /** When the request was sent, in `performance.now()`. */
  readonly startedAt: number;
  /** Bytes of the body that are kept. */
  readonly maxBytes: number;
  readonly onEnd: OnEnd;
}

/** A response whose reader gets it as it comes, while its chunks are kept. */
export function recordingOf(
  response: UpstreamResponse,
  { startedAt, maxBytes, onEnd }: RecordingOptions,
): UpstreamResponse {
  const chunks: Buffer[] = [];
  const times = [elapsed(startedAt)];
  let size = 0;
  let isOpen = true;
  const end = (how: RecordedAnswer['end']) => {
    if (!isOpen) return;
    isOpen = false;
    if (size > maxBytes) return onEnd(null);
    const kept = HEADERS.filter((name) => response.headers[name] !== undefined);
    const headers = Object.fromEntries(kept.map((name) => [name, response.headers[name]!]));
    onEnd({ status: response.status, headers, chunks, times, end: how });
  };
  const add = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) chunks.length = 0;
    // Undici may use the memory again.
    else chunks.push(Buffer.from(chunk));
    times.push(elapsed(startedAt));
  };
  const ended = async <Result>(reading: Promise<Result>): Promise<Result> => {
    try {
      const result = await reading;
      end('complete');
      return result;
    } catch (error) {
      end(isOfProvider(error) ? recorded(error) : 'abandoned');
      throw error;
    }
  };
  const read = (onData: (chunk: Buffer) => boolean) =>
    ended(
      response.read((chunk) => {
        add(chunk);
        return onData(chunk);
      }),
    );
  return {
    status: response.status,
    headers: response.headers,
    read,
    bytes(limit) {
      const reading = response.bytes(limit).then((bytes) => {
        add(bytes);
        return bytes;
      });
      return ended(reading);
    },
    resume: () => response.resume(),
    abort() {
      response.abort();
      end('abandoned');
    },
  };
}

/** Codes of failures whose cause is on this side. */
const OWN_CODES: readonly (string | null)[] = [
  'aborted',
  'address_denied',
  'connections_exhausted',
  'private_address',
  'upstream_request_invalid',
];

/** Whether the provider or the network failed, and not the reader. */
export function isOfProvider(error: unknown): error is Failure {
  return error instanceof Failure && !OWN_CODES.includes(error.code);
}

const recorded = ({ type, code, message }: Failure): RecordedFailure => ({ type, code, message });

const elapsed = (startedAt: number): number => Math.round(performance.now() - startedAt);
