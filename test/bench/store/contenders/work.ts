/** Last line of a contender, as JSON. */
export interface StoreFigures {
  seconds: number;
  /** Bytes written for each piece of work. */
  bytes: number;
}

export function figures(measured: StoreFigures): void {
  process.stdout.write(`${JSON.stringify(measured)}\n`);
}

/** Runs work a number of times, some of it concurrently. @returns the duration in seconds */
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
