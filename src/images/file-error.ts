import type { FileErrorCode } from '../error-codes.ts';
import { Failure } from '../failure.ts';

/** A failure of one file of a batch, which goes on. */
export function fileFailure(code: FileErrorCode, message: string, cause?: unknown): Failure {
  // Batches report the code alone; a single image in a request gets the status of its endpoint.
  return new Failure('invalid_request', message, { code, status: 400, cause });
}

/** The failure for a damaged image. @param format its name for users */
export function damagedImage(format: string, detail: string): Failure {
  return fileFailure('corrupt_image', `this ${format} image is damaged: ${detail}`);
}
