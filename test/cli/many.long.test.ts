import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { oriel, temporaryFolder, words } from '../oriel.ts';
import { documentOf } from './document.ts';
import { filesBelow } from './folder.ts';
import { writePhotographs } from './photographs.ts';

const FEW = 500;
const MANY = 1500;

/** Runs a conversion of so many files; returns its peak memory in megabytes. */
async function peakOf(cwd: string, files: number): Promise<number> {
  const probe = join(cwd, 'probe.cjs');
  writeFileSync(
    probe,
    `if (require('node:worker_threads').isMainThread) {
      const { writeFileSync } = require('node:fs');
      process.on('exit', () => writeFileSync('peak', String(process.resourceUsage().maxRSS)));
    }`,
  );
  const list = Array.from({ length: files }, (_, index) => `in/${index}.jpg`).join('\n');
  const out = `out-${files}`;
  const run = await oriel(
    words`convert --format png --effort 0 --files-from - --out ${out} --json`,
    { cwd, input: list, env: { NODE_OPTIONS: `--require ${probe}` } },
  );
  expect(run.status).toBe(0);
  const { summary, results } = documentOf(run);
  expect(summary).toMatchObject({ total: files, succeeded: files, failed: 0 });
  expect(results.map(({ index }) => index)).toEqual(results.map((_, index) => index));
  expect(filesBelow(join(cwd, out))).toHaveLength(files);
  return Number(readFileSync(join(cwd, 'peak'), 'utf8')) / 1024;
}

it('memory does not grow from hundreds to thousands of files', async () => {
  const cwd = temporaryFolder();
  const names = Array.from({ length: MANY }, (_, index) => `in/${index}.jpg`);
  // Outputs of 88 KB: all those by which the runs differ would be 85 MB.
  await writePhotographs(cwd, names, { width: 200, height: 150 });
  const few = await peakOf(cwd, FEW);
  const many = await peakOf(cwd, MANY);
  expect(many - few).toBeLessThan(45);
});
