import { type CodeOf, Failure, type FailureType } from '../failure.ts';
import type { AbortSignalLike } from '../upstream/abort-signal.ts';
import { abortedFailure } from '../upstream/failures.ts';
import type { UpstreamResponse } from '../upstream/response.ts';
import { readBytes } from '../upstream/response-handler.ts';
import type { RecordedAnswer, RecordedFailure } from './exchange.ts';

/** When the chunks of a recorded answer come: all at once, each in a turn of the event loop, or as they were recorded. */
export type Pace = 'at-once' | 'in-turns' | 'as-recorded';

interface ReplayOptions {
  /** Name of the server in failures. */
  readonly server: string;
  readonly pace: Pace;
  readonly signal: AbortSignalLike;
  /** The failure of a reader that wants more than was recorded before its client left. */
  readonly abandoned: () => Failure;
}

/**
 * Answers a request with a recorded answer.
 *
 * @throws Failure the recorded one where no answer began, and that of an abort
 */
export async function replay(
  answer: RecordedAnswer,
  options: ReplayOptions,
): Promise<UpstreamResponse> {
  const { signal, server, pace } = options;
  const startedAt = performance.now();
  if (pace === 'as-recorded') await delay(answer.times[0] ?? 0, signal);
  if (signal.aborted) throw abortedFailure(server, signal.reason);
  if (answer.status === 0) throw failureOf(answer, options);
  return new ReplayedResponse(answer, options, startedAt);
}

class ReplayedResponse implements UpstreamResponse {
  readonly status: number;
  readonly headers: RecordedAnswer['headers'];
  readonly #answer: RecordedAnswer;
  readonly #options: ReplayOptions;
  readonly #startedAt: number;
  #resume: (() => void) | null = null;
  #isAborted = false;

  constructor(answer: RecordedAnswer, options: ReplayOptions, startedAt: number) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.#answer = answer;
    this.#options = options;
    this.#startedAt = startedAt;
    options.signal.addEventListener('abort', this.#wake);
  }

  async read(onData: (chunk: Buffer) => boolean): Promise<void> {
    const { signal, pace } = this.#options;
    const { chunks, times, end } = this.#answer;
    try {
      for (const [index, chunk] of chunks.entries()) {
        if (pace === 'in-turns') await new Promise(setImmediate);
        else if (pace === 'as-recorded') {
          await delay(this.#startedAt + (times[index + 1] ?? 0) - performance.now(), signal);
        }
        this.#checkAborted();
        if (!onData(chunk)) await this.#resumed();
      }
      this.#checkAborted();
      if (end !== 'complete') throw failureOf(this.#answer, this.#options);
    } finally {
      signal.removeEventListener('abort', this.#wake);
    }
  }

  bytes(limit: number): Promise<Buffer> {
    return readBytes(this, this.#options.server, limit);
  }

  resume(): void {
    this.#wake();
  }

  abort(): void {
    this.#isAborted = true;
    this.#wake();
    this.#options.signal.removeEventListener('abort', this.#wake);
  }

  #resumed(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  readonly #wake = (): void => {
    const resume = this.#resume;
    this.#resume = null;
    // Like undici, never inside the call that resumes.
    if (resume !== null) queueMicrotask(resume);
  };

  #checkAborted(): void {
    const { signal, server } = this.#options;
    if (signal.aborted) throw abortedFailure(server, signal.reason);
    if (this.#isAborted) throw abortedFailure(server);
  }
}

function failureOf({ end }: RecordedAnswer, { abandoned }: ReplayOptions): Failure {
  if (end === 'abandoned' || end === 'complete') return abandoned();
  const { type, code, message } = end as RecordedFailure & { readonly type: FailureType };
  return new Failure(type, message, code === null ? {} : { code: code as CodeOf<FailureType> });
}

function delay(milliseconds: number, signal: AbortSignalLike): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, milliseconds));
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
