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
