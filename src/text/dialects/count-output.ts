import type { Dialect } from './dialect.ts';

/** Counts the events in whole frames that hold output, without parsing them. @param pattern global */
export function outputCounter(pattern: RegExp): (frames: string) => number {
  return (frames) => {
    let count = 0;
    pattern.lastIndex = 0;
    while (pattern.test(frames)) count += 1;
    return count;
  };
}

/** Whether frames of a dialect hold output, or the end of an answer, so that no other route can answer. */
export function hasOutputIn(
  { hasOutput, countOutput }: Pick<Dialect, 'hasOutput' | 'countOutput'>,
  frames: string,
): boolean {
  return hasOutput === undefined ? countOutput(frames) > 0 : hasOutput(frames);
}
