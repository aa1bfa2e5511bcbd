const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Milliseconds between two tries, a day in all. They are counted rather than held against the clock,
 * which may be set: a callback gets as many tries whatever the time is said to be, and however long
 * the daemon was down meanwhile.
 */
const WAITS = [
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

/** The share of a wait that is left to chance, so that what failed together does not come back so. */
const JITTER = 0.2;

/**
 * Milliseconds until a callback is tried again; null where it has been tried often enough.
 *
 * @param tries at least one
 * @param random from 0 to 1
 */
export function waitAfter(tries: number, random: number): number | null {
  const wait = WAITS[tries - 1];
  return wait === undefined ? null : Math.round(wait * (1 + JITTER * (random - 0.5)));
}

/**
 * Milliseconds until a delivery of earlier is due: as was planned, but never longer than was planned
 * then, though the clock be set back meanwhile.
 */
export function waitUntil(nextAt: number, now: number, tries: number): number {
  return Math.min(Math.max(0, nextAt - now), waitAfter(tries, 1) ?? 0);
}
