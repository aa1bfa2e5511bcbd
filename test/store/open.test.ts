import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { retryWhileLocked } from '../../src/store/drivers/open.ts';

const lockedBy = (pid: number) =>
  new Failure('service_error', `process ${pid} is using this store`, { code: 'store_locked' });

/** Counts the attempts until `retryWhileLocked` rejects with the failure of the last one. */
async function attempts(timeoutMs: number, failureAt: (attempt: number) => Error): Promise<number> {
  let count = 0;
  let last: Error | undefined;
  const retried = retryWhileLocked(timeoutMs, async () => {
    count += 1;
    last = failureAt(count);
    throw last;
  });
  await expect(retried).rejects.toSatisfy((error) => error === last);
  return count;
}

describe('retryWhileLocked', () => {
  it('rejects after one process has held the lock for the timeout', async () => {
    expect(await attempts(100, () => lockedBy(1))).toBeGreaterThan(1);
  });

  it('restarts the timeout when another process holds the lock', async () => {
    expect(await attempts(1, (attempt) => lockedBy(Math.min(attempt, 20)))).toBe(21);
  });

  it('returns the result once the lock is released', async () => {
    let count = 0;
    const result = await retryWhileLocked(60_000, async () => {
      count += 1;
      if (count < 3) throw lockedBy(1);
      return 'opened';
    });
    expect([result, count]).toEqual(['opened', 3]);
  });

  it.each([
    new Failure('service_error', 'broken', { code: 'store_corrupt' }),
    new Error('a defect'),
  ])('does not retry after %s', async (failure) => {
    expect(await attempts(60_000, () => failure)).toBe(1);
  });
});
