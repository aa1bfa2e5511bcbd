let waiting: (() => void)[] = [];
let isScheduled = false;

function run(): void {
  isScheduled = false;
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}

/**
 * Schedules the end of this tick before there is work for it. Work that an earlier callback of the same phase of
 * the event loop adds then runs in this tick, not in the next: one system call less.
 */
export function scheduleEndOfTick(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(run);
}

/**
 * Runs some work at the end of this tick of the event loop, when all data that has arrived is read.
 *
 * @param work must not throw
 */
export function atEndOfTick(work: () => void): void {
  scheduleEndOfTick();
  waiting.push(work);
}
