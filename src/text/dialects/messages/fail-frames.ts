import type { Failure } from '../../../failure.ts';
import { frame } from './frame.ts';

/** What tells a client that a stream went wrong; nothing comes after it. */
export function failFrames({ type, message, param, code }: Failure): string {
  return frame({ type: 'error', error: { type, message, param, code } });
}
