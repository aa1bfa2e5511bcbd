import type { Failure } from '../../../failure.ts';
import { namedFrame } from '../named-frame.ts';

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code }: Failure): string {
  return namedFrame({ type: 'error', error: { type, message, param, code } });
}
