import type { Failure } from '../../../failure.ts';

/** The last frame of a stream that failed. */
export function failFrames({ type, message, param, code }: Failure): string {
  return `data: ${JSON.stringify({ error: { type, message, param, code } })}\n\n`;
}
