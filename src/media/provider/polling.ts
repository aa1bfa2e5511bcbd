import { Failure } from '../../failure.ts';
import { isRetriable } from '../../routing/retry-policy.ts';
import { sleep } from '../../upstream/abort-signal.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { ProviderContext } from './provider.ts';
import type { Json, ProviderClient } from './provider-client.ts';
import { asBillable } from './provider-client.ts';

/**
 * Milliseconds until a remote job is polled.
 *
 * @param polls made so far
 * @param retryAfter seconds that the provider asked for; null where it did not
 */
export type PollDelay = (polls: number, retryAfter: number | null) => number;

/** The first delay and the longest, in milliseconds, and the factor between two. */
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 10_000;
const DELAY_FACTOR = 1.5;

/** Bounds of the delay that a provider may ask for. */
const MIN_RETRY_AFTER_MS = 100;
const MAX_RETRY_AFTER_MS = 60_000;

/** Exponential backoff with up to a quarter added at random, so that jobs are not polled together. */
export const pollDelay: PollDelay = (polls, retryAfter) => {
  if (retryAfter !== null) {
    return Math.min(Math.max(retryAfter * 1000, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
  }
  // The exponent is bounded so that no number of polls makes it infinite.
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * DELAY_FACTOR ** Math.min(polls, 20));
  return delay * (1 + Math.random() / 4);
};

/** Timeout until the response to a poll begins: the provider does no work for it. */
const POLL_TIMEOUT_MS = 30_000;

interface PollOptions<Result> {
  readonly client: ProviderClient;
  readonly context: ProviderContext;
  /** Path of the remote job below the base URL: `/videos/ID`. */
  readonly path: string;
  readonly delay: PollDelay;
  /** Bytes of a response. */
  readonly maxBytes: number;
  /** Reads the job's state: its result once it is done; null before. @throws the failure of the job */
  readonly read: (json: Json) => Result | null;
  /** Called when the job has ended without a result, so that the next attempt submits a new one. */
  readonly onFailed: () => Promise<void>;
}

/**
 * Polls a remote job until it is done. A poll that fails says nothing of the job, and is repeated until
 * the signal is aborted. A job that the provider does not know has failed.
 *
 * @throws Failure `billable_error` where the provider refuses further polls
 */
export async function pollJob<Result>(options: PollOptions<Result>): Promise<Result> {
  const { context, read, delay } = options;
  let retryAfter: number | null = null;
  for (let polls = 0; ; polls += 1) {
    await sleep(context.upstream.isInstant ? 10 : delay(polls, retryAfter), context.signal);
    try {
      const poll = await pollOnce(options);
      const result = poll.json && read(poll.json);
      if (result !== null) return result;
      retryAfter = poll.retryAfter;
    } catch (error) {
      if (!wasAborted(error, context)) await options.onFailed();
      throw error;
    }
  }
}

/** Whether polling was aborted, while the job continues. */
function wasAborted(error: unknown, { signal }: ProviderContext): boolean {
  // UpstreamClient.close aborts all requests on shutdown, before the task's own signal.
  return !(error instanceof Failure) || signal.aborted || error.code === 'aborted';
}

interface PollResult {
  /** Null where the poll failed. */
  readonly json: Json | null;
  readonly retryAfter: number | null;
}

async function pollOnce({
  client,
  path,
  maxBytes,
  context,
}: PollOptions<unknown>): Promise<PollResult> {
  try {
    const timeouts = pollTimeouts(context.timeouts);
    const { json, headers } = await client.sendForJson({ path, maxBytes, timeouts });
    return { json, retryAfter: secondsOf(headers['retry-after']) };
  } catch (error) {
    if (!(error instanceof Failure) || wasAborted(error, context)) throw error;
    if (error.type === 'timeout' || isRetriable(error)) {
      return { json: null, retryAfter: error.retryAfter };
    }
    const saysNothing = error.code === 'upstream_not_found' || error.code === 'cassette_miss';
    throw saysNothing ? error : asBillable(error);
  }
}

function pollTimeouts(timeouts: Timeouts): Timeouts {
  const { firstByte } = timeouts;
  return {
    ...timeouts,
    firstByte: firstByte === 0 ? POLL_TIMEOUT_MS : Math.min(firstByte, POLL_TIMEOUT_MS),
  };
}

function secondsOf(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : null;
}

/** Validates a remote job's identifier for use in a path; null where it is invalid. */
export function jobIdOf(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[\x21-\x7e]{1,500}$/.test(value)) return null;
  // URL parsing removes these from a path.
  return value === '.' || value === '..' ? null : value;
}
