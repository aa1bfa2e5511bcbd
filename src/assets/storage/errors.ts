import { Failure } from '../../failure.ts';

/** Seconds in `Retry-After` when the disk cannot take a file. */
const RETRY_AFTER_SECONDS = 30;

/** The disk is full or fails, or too many files are open: an error of this server that may pass. */
export function storageUnavailable(reason: string, cause?: unknown): Failure {
  return new Failure('service_error', `cannot store files: ${reason}`, {
    code: 'storage_unavailable',
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
  return new Failure('service_error', 'the storage of files cannot be used at present', {
    code: 'storage_unavailable',
    retryAfter,
    detail: `S3: ${detail}`,
    cause,
  });
}

/** A stored file differs from what was written. */
export function damagedFailure(): Failure {
  return new Failure('service_error', 'the file is damaged in the storage of this server', {
    code: 'asset_damaged',
  });
}

export function tooLarge(maxBytes: number): Failure {
  return new Failure('invalid_request', `expected a file of at most ${maxBytes} bytes`, {
    code: 'file_too_large',
  });
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
