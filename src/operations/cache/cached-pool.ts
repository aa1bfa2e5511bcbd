import { createHash } from 'node:crypto';
import type { Job, JobResult } from '../definition/job.ts';
import type { BatchPool, JobContext } from '../pool/pool.ts';
import { statAt } from './file-identity.ts';
import type { ResultCache } from './result-cache.ts';

/** A view of a pool that reads results from a cache, and adds the missing ones. */
export function cachedPool(pool: BatchPool, cache: ResultCache): BatchPool {
  const run = async (job: Job, context?: JobContext): Promise<JobResult> => {
    const { source } = job;
    const maker = cache.keys.makerOf(job);
    const sha256 =
      'path' in source
        ? cache.digest(source.path)
        : createHash('sha256').update(source.bytes).digest('hex');
    const stored = sha256 === null ? undefined : cache.find(maker, sha256);
    const loaded = stored && cache.load(stored);
    if (loaded) return loaded;

    const now = Date.now();
    const before = 'path' in source ? statAt(source.path) : undefined;
    // The file may change before the thread reads it, so only the thread knows which content it has used.
    const result = await pool.run({ ...job, digest: true }, context);
    if (!result.ok || result.inputSha256 === undefined) return result;
    cache.store(maker, result.inputSha256, result);
    if ('path' in source) cache.noteInput(source.path, before, now, result.inputSha256);
    return result;
  };
  return {
    size: pool.size,
    run,
    get abandoned() {
      return pool.abandoned;
    },
    close: () => pool.close(),
  };
}
