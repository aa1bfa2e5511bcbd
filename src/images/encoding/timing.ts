import type { Header } from '../decoding/header.ts';
import type { Warning } from '../output.ts';

/** The encoders store 16 bits: milliseconds of a frame's delay, and the loop count. */
export const MAX_DELAY_MS = 65_535;
const MAX_LOOPS = 65_535;

export interface Timing {
  readonly loop?: number;
  readonly delay?: number[];
}

/** Loop count and delays of an animation, within the encoders' limits. */
export function timingOf(header: Header, frames: number): { timing: Timing; warnings: Warning[] } {
  if (frames === 1) return { timing: {}, warnings: [] };
  const { loop = 0, delay } = header.metadata;
  const warnings: Warning[] = [];
  const long = delay?.filter((milliseconds) => milliseconds > MAX_DELAY_MS).length ?? 0;
  if (long > 0) {
    const frame = long === 1 ? 'the delay of 1 frame was' : `the delays of ${long} frames were`;
    const message = `${frame} shortened to ${MAX_DELAY_MS / 1000} s, the longest that can be written`;
    warnings.push({ code: 'delay_adjusted', message });
  }
  // Raw pixels have no timing, so it is always set. A GIF with 65535 repetitions plays once more.
  const timing = {
    loop: Math.min(loop, MAX_LOOPS),
    ...(delay && { delay: delay.map((milliseconds) => Math.min(milliseconds, MAX_DELAY_MS)) }),
  };
  return { timing, warnings };
}
