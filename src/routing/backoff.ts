import type { Failure } from '../failure.ts';
import { type AbortSignalLike, sleep } from '../upstream/abort-signal.ts';

/** Delay before the first retry of a route, and the longest, in milliseconds. */
const FIRST_DELAY_MS = 250;
export const MAX_DELAY_MS = 10_000;

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
  { signal, deadline }: { readonly signal: AbortSignalLike; readonly deadline: number },
): Promise<boolean> {
  const backoff =
    Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)) * (1 - Math.random() / 2);
  const delay = retryAfter === null ? backoff : Math.max(retryAfter * 1000, backoff);
  if (delay > MAX_DELAY_MS || performance.now() + delay >= deadline) return false;
  await sleep(delay, signal);
  return true;
}
