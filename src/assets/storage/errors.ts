import { codedFailure, Failure } from '../../failure.ts';

/** Seconds in `Retry-After` when the disk cannot take a file. */
const RETRY_AFTER_SECONDS = 30;

/** The disk is full or fails, or too many files are open: an error of this server that may pass. */
export function storageUnavailable(reason: string, cause?: unknown): Failure {
  return codedFailure('storage_unavailable', `cannot store files: ${reason}`, {
    retryAfter: RETRY_AFTER_SECONDS,
    cause,
  });
}

/**
 * The service that has the files does not answer, or refuses a request.
 *
 * @param detail for the log alone
 * @param retryAfter seconds
 */
export function bucketUnavailable(detail: string, cause?: unknown, retryAfter = 5): Failure {
  return codedFailure('storage_unavailable', 'the storage of files cannot be used at present', {
    retryAfter,
    detail: `S3: ${detail}`,
    cause,
  });
}

export function tooLarge(maxBytes: number): Failure {
  return codedFailure('file_too_large', `expected a file of at most ${maxBytes} bytes`);
}

/** Runs a disk operation and converts its errors: their own messages contain paths. */
export async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw storageUnavailable(code ?? 'the disk failed', error);
  }
}
