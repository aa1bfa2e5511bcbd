import { type CodeOf, Failure, type FailureType } from '../failure.ts';
import { type AbortSignalLike, sleep } from '../upstream/abort-signal.ts';
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
  const { status, headers, chunks, times, end } = answer;
  const startedAt = performance.now();
  let isAborted = false;
  let resume = () => {};
  // Like undici, never inside the call that resumes.
  const wake = () => queueMicrotask(resume);
  const next = async (index: number) => {
    if (pace === 'in-turns' && index > 0) await new Promise(setImmediate);
    if (pace === 'as-recorded') {
      const delay = startedAt + (times[index] ?? 0) - performance.now();
      await sleep(Math.max(0, delay), signal).catch(() => {});
    }
    if (signal.aborted || isAborted) throw abortedFailure(server, signal.reason);
  };
  const read = async (onData: (chunk: Buffer) => boolean) => {
    signal.addEventListener('abort', wake);
    try {
      for (const [index, chunk] of chunks.entries()) {
        await next(index + 1);
        if (onData(chunk)) continue;
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      }
      if (signal.aborted || isAborted) throw abortedFailure(server, signal.reason);
      if (end !== 'complete') throw failureOf(answer, options);
    } finally {
      signal.removeEventListener('abort', wake);
    }
  };
  await next(0);
  if (status === 0) throw failureOf(answer, options);
  return {
    status,
    headers,
    read,
    bytes: (limit) => readBytes({ read }, server, limit),
    resume: wake,
    abort() {
      isAborted = true;
      wake();
    },
  };
}

function failureOf({ end }: RecordedAnswer, { abandoned }: ReplayOptions): Failure {
  if (end === 'abandoned' || end === 'complete') return abandoned();
  const { type, code, message } = end as RecordedFailure & { readonly type: FailureType };
  return new Failure(type, message, code === null ? {} : { code: code as CodeOf<FailureType> });
}
