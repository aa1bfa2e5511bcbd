import type { Failure } from '../../../failure.ts';
import { frame } from './frame.ts';

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code }: Failure): string {
  return frame({ type: 'error', error: { type, message, param, code } });
}
