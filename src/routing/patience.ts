import type { Failure } from '../failure.ts';
import type { Cancelled } from '../upstream/cancellation.ts';

/** The first wait before a route is tried again, and the longest, in milliseconds. */
const FIRST = 250;
const LONGEST = 10_000;

/**
 * Waits before a route is tried again: twice as long each time, with as much as half of it left to
 * chance so that clients do not come back in step; as long as the upstream asks for where it does.
 *
 * @param tries how often it has been tried
 * @returns false where that would take too long
 * @throws the signal's reason once it is aborted
 */
export async function pauseBefore(
  tries: number,
  { retryAfter }: Failure,
  { signal, deadline }: { readonly signal: Cancelled; readonly deadline: number },
): Promise<boolean> {
  const backoff = Math.min(LONGEST, FIRST * 2 ** (tries - 1)) * (1 - Math.random() / 2);
  const wait = retryAfter === null ? backoff : Math.max(retryAfter * 1000, backoff);
  if (wait > LONGEST || performance.now() + wait >= deadline) return false;
  await pause(wait, signal);
  return true;
}

/** Waits. @throws the signal's reason once it is aborted */
export async function pause(milliseconds: number, signal: Cancelled): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave);
      resolve();
    }, milliseconds);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave);
  });
}
