import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';

/** Milliseconds between two looks at a lock, on average: those who wait shall not all come at once. */
const PAUSE = 30;

/**
 * Waiting for a store that another process has.
 *
 * @param milliseconds for one process to let go of it; as long as several take turns, ours will come
 * @returns to be called with each failure to open the store: waits a moment, or throws the failure
 *   where waiting is no use
 */
export function patience(milliseconds: number): (failure: unknown) => Promise<void> {
  let holder: string | undefined;
  let end = 0;
  return async (failure) => {
    if (!(failure instanceof Failure) || failure.code !== 'store_locked') throw failure;
    // The message names the process.
    if (failure.message !== holder) {
      holder = failure.message;
      end = Date.now() + milliseconds;
    }
    if (Date.now() > end) throw failure;
    await delay(PAUSE * (0.5 + Math.random()));
  };
}
