import { setImmediate } from 'node:timers';

/** What a function returns, or another value if it throws. */
export function valueOr<Result, Other>(work: () => Result, other: Other): Result | Other {
  try {
    return work();
  } catch {
    return other;
  }
}

/** For `catch`: undoes what was done before the error, then rejects with the error. */
export function rethrowAfter(undo: () => unknown): (error: unknown) => Promise<never> {
  return async (error) => {
    await undo();
    throw error;
  };
}

/** A function that runs one call after the other. */
export function oneByOne(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    // Without the result of the call before.
    const working = last.then(() => work());
    last = working.catch(() => {});
    return working;
  };
}

/** Runs a function for all who call it meanwhile: they get the promise of the run in progress. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
}

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
