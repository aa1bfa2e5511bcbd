let waiting: (() => void)[] = [];

function run(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}

/**
 * Runs some work at the end of this tick of the event loop, when all data that has arrived is read.
 *
 * @param work must not throw
 */
export function atEndOfTick(work: () => void): void {
  if (waiting.length === 0) setImmediate(run);
  waiting.push(work);
}
