/** Resolves with the result of the work, or with `fallback` after the timeout. */
export function withTimeout<Result>(
  work: Promise<Result>,
  milliseconds: number,
  fallback: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve(fallback), milliseconds);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
