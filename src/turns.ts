import { setImmediate } from 'node:timers';

/** What waits for its turn, the oldest first. */
const waiting: (() => void)[] = [];

function begin(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(begin);
}

/**
 * Resolves in a later turn of the event loop, of which each resumes one caller. All immediates of a turn run in it, so
 * that the slices of ten large requests together would hold up a small one ten times as long.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(begin);
  });
}

/** Gives way to other requests where work has held the event loop for some milliseconds. */
export function sliced(most: number): () => Promise<void> | undefined {
  let since = performance.now();
  const resume = () => {
    since = performance.now();
  };
  return () => (performance.now() - since < most ? undefined : nextTurn().then(resume));
}
