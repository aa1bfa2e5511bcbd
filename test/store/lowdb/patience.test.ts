import { expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { patience } from '../../../src/store/lowdb/patience.ts';

const lockedBy = (pid: number) =>
  new Failure('service_error', `process ${pid} is using this store`, { code: 'store_locked' });

/** How often it waited before it gave up. */
async function waits(wait: (failure: unknown) => Promise<void>, failure: unknown): Promise<number> {
  for (let count = 0; ; count += 1) {
    try {
      await wait(failure);
    } catch (error) {
      expect(error).toBe(failure);
      return count;
    }
  }
}

it('ends where one process keeps the store', async () => {
  expect(await waits(patience(100), lockedBy(1))).toBeGreaterThan(0);
});

it('begins anew with every process that gets its turn', async () => {
  const wait = patience(1);
  for (let pid = 1; pid <= 20; pid += 1) await wait(lockedBy(pid));
  expect(await waits(wait, lockedBy(20))).toBe(0);
});

it.each([new Failure('service_error', 'broken', { code: 'store_corrupt' }), new Error('a defect')])(
  'is none for %s',
  async (failure) => {
    expect(await waits(patience(60_000), failure)).toBe(0);
  },
);
