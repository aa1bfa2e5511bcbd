import type { Failure } from '../../../failure.ts';

/** What tells a client that a stream went wrong; nothing comes after it. */
export function failFrames({ type, message, param, code }: Failure): string {
  return `data: ${JSON.stringify({ error: { type, message, param, code } })}\n\n`;
}
