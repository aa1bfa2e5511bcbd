import type { Failure } from '../failure.ts';
import { type AbortSignalLike, sleep } from '../upstream/abort-signal.ts';

/** Delay before the first retry of a route, and the longest, in milliseconds. */
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;

interface WaitLimits {
  readonly signal: AbortSignalLike;
  /** Time of `performance.now()`. */
  readonly deadline: number;
}

/**
 * Waits before a route is retried: exponential backoff with up to half of it random, so that clients
 * do not retry in step; at least as long as the upstream's Retry-After.
 *
 * @param attempts made at the route so far
 * @returns false where the delay would exceed the maximum or the deadline
 * @throws the signal's reason once it is aborted
 */
export async function waitBeforeRetry(
  attempts: number,
  { retryAfter }: Pick<Failure, 'retryAfter'>,
  { signal, deadline }: WaitLimits,
): Promise<boolean> {
  const backoff =
    Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)) * (1 - Math.random() / 2);
  const delay = retryAfter === null ? backoff : Math.max(retryAfter * 1000, backoff);
  if (delay > MAX_DELAY_MS || performance.now() + delay >= deadline) return false;
  await sleep(delay, signal);
  return true;
}

/** Waits for the end of a rate limit's cooldown. @returns false where another failure began it, or it is too long */
export async function waitForRateLimit(
  { type }: Failure,
  milliseconds: number,
  { signal, deadline }: WaitLimits,
): Promise<boolean> {
  // Requests that wait for the same moment are spread over a quarter of a second.
  const delay = milliseconds + Math.random() * 250;
  if (type !== 'rate_limit' || delay > MAX_DELAY_MS) return false;
  if (performance.now() + delay >= deadline) return false;
  await sleep(delay, signal);
  return true;
}
