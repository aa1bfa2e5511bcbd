import { Failure } from '../../failure.ts';
import { sleep } from '../../routing/backoff.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';

/** Milliseconds before work is tried again that our own disk made fail: at first, and at most. */
const FIRST = 500;
const LONGEST = 5000;

/** Codes of failures to keep files and records, and to open connections where no descriptor is left. */
const CODES = ['storage_unavailable', 'store_unavailable', 'connections_exhausted'];

/** Whether this server made something fail, its disk for instance, which may pass. */
export function isStorageFailure(error: unknown): error is Failure {
  return error instanceof Failure && CODES.includes(error.code ?? '');
}

/**
 * Does work again and again while our own disk makes it fail: a full disk passes, and no provider is
 * to blame for it.
 *
 * @param onFailure called with the first failure, and with null once the work is done after all
 * @throws what the work throws for another reason; its last failure, once the signal is aborted
 */
export async function retryStorage<Result>(
  work: () => Promise<Result>,
  signal: AbortSignalLike,
  onFailure: (failure: Failure | null) => void = () => {},
): Promise<Result> {
  for (let wait = FIRST; ; wait = Math.min(2 * wait, LONGEST)) {
    try {
      const result = await work();
      if (wait > FIRST) onFailure(null);
      return result;
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      if (wait === FIRST) onFailure(error);
      await sleep(wait, signal).catch(() => {
        throw error;
      });
    }
  }
}
