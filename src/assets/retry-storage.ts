import { Failure } from '../failure.ts';
import { sleep } from '../upstream/abort-signal.ts';

/** Delay before the first retry, and the longest, in milliseconds. */
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 5000;

/** Codes of failures of this server's disk and store, and of exhausted file descriptors. */
const STORAGE_CODES = ['storage_unavailable', 'store_unavailable', 'connections_exhausted'];

/** Whether this server's own disk, store or descriptors caused a failure, which may pass. */
export function isStorageFailure(error: unknown): error is Failure {
  return error instanceof Failure && STORAGE_CODES.includes(error.code ?? '');
}

/**
 * Retries an operation while it fails for a storage failure: a full disk passes, and no provider is
 * to blame for it.
 *
 * @param onFailure called with the first failure, and with null once a retry succeeds
 * @throws any other error of the operation; its last failure, once the signal is aborted
 */
export async function retryStorage<Result>(
  operation: () => Promise<Result>,
  signal: AbortSignal,
  onFailure: (failure: Failure | null) => void = () => {},
): Promise<Result> {
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, MAX_DELAY_MS)) {
    try {
      const result = await operation();
      if (delay > FIRST_DELAY_MS) onFailure(null);
      return result;
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      if (delay === FIRST_DELAY_MS) onFailure(error);
      await sleep(delay, signal).catch(() => {
        throw error;
      });
    }
  }
}
