let waiting: (() => void)[] = [];

function run(): void {
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}

/**
 * Does something when all that has arrived by now is read: at the end of this turn of the event loop.
 *
 * @param work must not throw
 */
export function atEndOfTurn(work: () => void): void {
  if (waiting.length === 0) setImmediate(run);
  waiting.push(work);
}
