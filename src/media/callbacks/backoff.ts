const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Milliseconds between two delivery attempts, a day in all. The position in the list, not the wall
 * clock, ends the retries: clock changes and the daemon's downtime cost no attempt.
 */
const RETRY_DELAYS_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  8 * HOUR,
];

/** Random share of a delay, so that callbacks that failed together are not retried together. */
const JITTER = 0.2;

/**
 * Milliseconds until a callback is sent again; null after the last attempt.
 *
 * @param attempts at least one
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, random: number): number | null {
  const delay = RETRY_DELAYS_MS[attempts - 1];
  return delay === undefined ? null : Math.round(delay * (1 + JITTER * (random - 0.5)));
}
