import { FairSemaphore } from '../../src/operations/fair-semaphore.ts';
import type { Job, JobResult } from '../../src/operations/job.ts';
import type { JobContext, SharedPool } from '../../src/operations/pool.ts';

/** What a job of the pool below comes to: it may throw, which no real job does. */
export type Work = (job: Job, number: number) => Promise<JobResult> | JobResult;

/** A pool whose jobs are whatever the test says. */
export function handPool(size: number, work: Work): SharedPool & { readonly started: number } {
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

/** A door that stays shut until the test opens it. */
export class Door {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
