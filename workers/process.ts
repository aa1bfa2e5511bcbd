/**
 * The entry of a worker process of the daemon: one image job at a time, with a libvips of its own.
 * The thread that started it kills it when a job misses its deadline.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Estimate } from '../src/images/input.ts';
import { endWithParent, exitImmediately, limitData } from '../src/libc.ts';
import type { ProcessRequest, ProcessResponse } from '../src/operations/pool/decoder-threads.ts';
import { GrantExceededError, runJob } from './image.ts';

/** Bytes that estimates leave out: stacks of threads, the file itself, and garbage. */
const OVERHEAD_BYTES = 256 * 1024 * 1024;
/** Factor by which estimates may be too low. */
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
  if (now !== null) limitData(now + bytes * TOLERANCE + OVERHEAD_BYTES);
}

async function respond({ job, grant }: ProcessRequest): Promise<ProcessResponse> {
  limitMemory(grant);
  try {
    const result = await runJob(job, (estimate) => {
      const { milliseconds, bytes } = estimate;
      if (milliseconds > grant.milliseconds || bytes > grant.bytes)
        throw new GrantExceededError(estimate);
    });
    return { result };
  } catch (error) {
    if (error instanceof GrantExceededError) return { estimate: error.estimate };
    throw error;
  }
}

function send(message: ProcessResponse | 'ready'): void {
  process.send!(message, undefined, undefined, () => {});
}

endWithParent();
// If the machine runs out of memory, the kernel kills this process rather than the daemon.
try {
  writeFileSync('/proc/self/oom_score_adj', '800');
} catch {
  // Another system than Linux.
}
// A terminal or a service manager sends these to the whole process group; the daemon handles them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => exitImmediately(0));
process.on('message', async (request: ProcessRequest) => {
  const outcome = await respond(request);
  send({ ...outcome, memory: process.memoryUsage.rss() });
});
send('ready');
