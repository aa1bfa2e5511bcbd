import type { Failure } from '../../../failure.ts';
import { googleError } from './google-error.ts';

/** The last frame of a stream that failed. */
export function failFrames(failure: Failure): string {
  return `data: ${JSON.stringify(googleError(failure, failure.status))}\n\n`;
}
