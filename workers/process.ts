/**
 * The entry of a process that works on images for the daemon: one job at a time, with a libvips of
 * its own. Its parent kills it when a job overstays its deadline.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Estimate } from '../src/images/input.ts';
import { endWithParent, exitImmediately, limitData } from '../src/libc.ts';
import type { ProcessAnswer, ProcessOrder } from '../src/operations/processes.ts';
import { ExceedsGrant, perform } from './image.ts';

/** What estimates leave out: stacks of threads, the file itself, garbage, and estimates' own error. */
const SLACK = 256 * 1024 * 1024;
const TOLERANCE = 1.5;

/** Bytes of private writable memory (proc(5), VmData); null on other systems than Linux. */
function dataSize(): number | null {
  try {
    const [, kilobytes] = /^VmData:\s+(\d+) kB$/m.exec(
      readFileSync('/proc/self/status', 'latin1'),
    )!;
    return Number(kilobytes) * 1024;
  } catch {
    return null;
  }
}

function limitMemory({ bytes }: Estimate): void {
  const now = dataSize();
  if (now !== null) limitData(now + bytes * TOLERANCE + SLACK);
}

async function answer({ job, grant }: ProcessOrder): Promise<ProcessAnswer> {
  limitMemory(grant);
  try {
    const result = await perform(job, (estimate) => {
      const { milliseconds, bytes } = estimate;
      if (milliseconds > grant.milliseconds || bytes > grant.bytes)
        throw new ExceedsGrant(estimate);
    });
    return { result };
  } catch (error) {
    if (error instanceof ExceedsGrant) return { estimate: error.estimate };
    throw error;
  }
}

function send(message: ProcessAnswer | 'ready'): void {
  process.send!(message, undefined, undefined, () => {});
}

endWithParent();
// Where the machine runs out of memory, the kernel ends this process rather than the daemon.
try {
  writeFileSync('/proc/self/oom_score_adj', '800');
} catch {
  // Another system than Linux.
}
// A terminal or a service manager sends these to the whole group. The parent decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => exitImmediately(0));
process.on('message', async (order: ProcessOrder) => {
  const outcome = await answer(order);
  send({ ...outcome, memory: process.memoryUsage.rss() });
});
send('ready');
