/** Counts the events in whole frames that hold output, without parsing them. @param pattern global */
export function outputCounter(pattern: RegExp): (frames: string) => number {
  return (frames) => {
    let count = 0;
    pattern.lastIndex = 0;
    while (pattern.test(frames)) count += 1;
    return count;
  };
}
