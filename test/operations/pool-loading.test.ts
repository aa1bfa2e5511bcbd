import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/images/limits.ts';
import { startPool } from '../../src/operations/pool/pool.ts';
import { temporaryFolder } from '../oriel.ts';

// Node 20 aborts the process, one time in forty, where a thread is ended while it loads an ES module
// by require(). Ending a batch early does just that.
it('a thread that is terminated while it loads its file does not abort the process', async () => {
  const worker = join(temporaryFolder(), 'worker.mjs');
  writeFileSync(
    worker,
    `Error.stackTraceLimit = 100;
    const loadedBy = new Error('here').stack;
    export default () => ({ ok: true, originalSize: 0, warnings: [], data: { loadedBy } });`,
  );
  const pool = await startPool({ threads: 1, worker });
  try {
    const source = { bytes: new Uint8Array(1) };
    const job = { operation: 'any', options: {}, source, limits: DEFAULT_LIMITS };
    const result = await pool.run(job);
    const { loadedBy } = (result as { data: { loadedBy: string } }).data;
    expect(loadedBy).toContain('worker.mjs');
    expect(loadedBy).not.toMatch(/require|cjs/i);
  } finally {
    await pool.close();
  }
});
