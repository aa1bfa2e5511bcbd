import type { Failure } from '../../../failure.ts';
import { googleError } from './google-error.ts';

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code, status }: Failure): string {
  return `data: ${JSON.stringify(googleError({ type, message, param, code }, status))}\n\n`;
}
