/** What a contender prints as JSON on its last line. */
export interface StoreFigures {
  seconds: number;
  /** Written for each piece of work. */
  bytes: number;
}

export function figures(measured: StoreFigures): void {
  process.stdout.write(`${JSON.stringify(measured)}\n`);
}

/** Does something a number of times, so many at once. Resolves with the seconds that it took. */
export async function inFlight(
  width: number,
  count: number,
  work: () => Promise<unknown>,
): Promise<number> {
  let left = count;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left > 0) {
        left -= 1;
        await work();
      }
    }),
  );
  return (performance.now() - started) / 1000;
}
