import { FairSemaphore } from '../../src/fair-semaphore.ts';
import type { Job, JobResult } from '../../src/operations/definition/job.ts';
import type { JobContext, SharedPool } from '../../src/operations/pool/pool.ts';

/** Runs a job of the pool below. It may throw, which no real job does. */
export type Work = (job: Job, number: number) => Promise<JobResult> | JobResult;

/** A pool whose jobs the test runs. */
export function manualPool(size: number, work: Work): SharedPool & { readonly started: number } {
  const places = new FairSemaphore(size);
  let started = 0;
  return {
    size,
    get started() {
      return started;
    },
    async run(job: Job, { client = '', signal }: JobContext = {}) {
      const leave = await places.acquire(client, signal);
      started += 1;
      try {
        return await work(job, started);
      } finally {
        leave();
      }
    },
    statistics: () => ({
      waiting: places.waiting,
      running: places.acquired,
      finished: new Map([['any', { jobs: started, milliseconds: 0 }]]),
    }),
    probe: async () => null,
    async close() {},
  };
}

export function imageOf(bytes: number): JobResult {
  const image = { bytes: new Uint8Array(bytes), format: 'png', width: 3, height: 2 } as const;
  return { ok: true, originalSize: 10, warnings: [], image: { ...image, sha256: 'abc' } };
}
