import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchResult } from '../../src/operations/batch/batch-record.ts';
import { SLOW_ENCODER, slowToEncode } from '../fixtures/images.ts';
import { oriel, type Running, start, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { readArchive } from './archive.ts';
import { documentOf, linesOf, outcomes } from './document.ts';
import { filesBelow, temporariesBelow } from './folder.ts';
import { photograph, writePhotographs } from './photographs.ts';
import { printed } from './printed.ts';

const resident = residentCommand();

/** A folder of images that take an encoder a good while each. */
async function slowFolder(count: number): Promise<string> {
  const folder = temporaryFolder();
  for (let seed = 0; seed < count; seed += 1) {
    const bytes = await photograph('png', { width: 64, height: 48, seed });
    writeFileSync(join(folder, `${seed}.png`), bytes);
  }
  return folder;
}

const SLOWLY = words`convert --format avif --effort 9 --jobs 2`;

describe.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s', (signal, status) => {
  it('ends a batch with whole files only, and reports the rest as interrupted', async () => {
    const cwd = await slowFolder(6);
    const running = start(words`${SLOWLY} -r . --out out --jsonl`, { cwd });
    expect(await printed(running, 2)).toBe(true);
    running.child.kill(signal);
    const run = await running.ended;
    expect(run.status).toBe(status);
    expect(run.stderr).toMatch(/^oriel: interrupted after [2-5] of 6 files\n$/);

    const written = filesBelow(join(cwd, 'out'));
    expect(temporariesBelow(cwd)).toEqual([]);
    expect(written.length).toBeGreaterThanOrEqual(2);
    expect(written.length).toBeLessThan(6);
    for (const name of written) {
      const whole = sharp(join(cwd, 'out', name)).raw();
      const { info } = await whole.toBuffer({ resolveWithObject: true });
      expect(info).toMatchObject({ width: 64, height: 48 });
    }
    // Whatever was reported is there as reported.
    const records = linesOf(run);
    expect(records.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    const [done, left] = [
      records.filter(({ status }) => status === 'succeeded'),
      records.filter(({ reason }) => reason?.code === 'interrupted'),
    ];
    expect(done.length + left.length).toBe(6);
    expect(done.map(({ outputFilename }) => outputFilename!.slice(4)).sort()).toEqual(written);
    for (const { outputFilename, sha256 } of done) {
      const bytes = readFileSync(join(cwd, outputFilename!));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    }
  });
});

describe('SIGINT', () => {
  it('twice leaves no temporary file', async () => {
    const cwd = await slowFolder(4);
    const running = start(words`${SLOWLY} -r . --out out --jsonl`, { cwd });
    expect(await printed(running, 1)).toBe(true);
    running.child.kill('SIGINT');
    running.child.kill('SIGINT');
    expect((await running.ended).status).toBe(130);
    expect(temporariesBelow(cwd)).toEqual([]);
  });

  it('completes the document of --json with a record of every file', async () => {
    const cwd = await slowFolder(6);
    const running = start(words`${SLOWLY} -r . --out out --json`, { cwd });
    expect(await printed(running, 2)).toBe(true);
    running.child.kill('SIGINT');
    const run = await running.ended;
    expect(run.status).toBe(130);
    const { status, results, summary } = documentOf(run);
    expect(status).toBe('interrupted');
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    const done = results.filter((record) => record.status === 'succeeded');
    expect(done.map(({ outputFilename }) => outputFilename!.slice(4))).toEqual(
      filesBelow(join(cwd, 'out')),
    );
    expect(summary).toMatchObject({ total: 6, succeeded: done.length, skipped: 6 - done.length });
    for (const record of results.slice(done.length)) {
      expect(record).toMatchObject({
        status: 'skipped',
        reason: { code: 'interrupted' },
        originalSize: expect.any(Number),
      });
    }
  });

  it('leaves no unfinished archive', async () => {
    const cwd = await slowFolder(4);
    const running = start(words`${SLOWLY} -r . --zip all.zip --jsonl`, { cwd });
    expect(await printed(running, 1)).toBe(true);
    expect(temporariesBelow(cwd)).toHaveLength(1);
    running.child.kill('SIGINT');
    expect((await running.ended).status).toBe(130);
    expect(filesBelow(cwd)).toEqual(['0.png', '1.png', '2.png', '3.png']);
  });
});

/** Starts a batch of a quick file and of others whose encoders would outlast the test. */
async function startEndless(files: number, ...args: string[]): Promise<Running> {
  const cwd = temporaryFolder();
  const bytes = await slowToEncode();
  const names = Array.from({ length: files }, (_, index) => `slow-${index}.jpg`);
  for (const name of names) writeFileSync(join(cwd, name), bytes);
  await writePhotographs(cwd, ['quick.jpg']);
  const { format, effort } = SLOW_ENCODER;
  const encoder = ['--format', format, '--effort', `${effort}`, '--jobs', `${files + 1}`];
  const running = start(words`convert ${encoder} ${args} quick.jpg ${names}`, { cwd });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

// One file is encoded on the calling thread, so much work on threads of their own.
describe.each([1, 3])('%i encoders that run for minutes', (files) => {
  it('do not delay the exit at a signal', async () => {
    const running = await startEndless(files, '--out', 'out', '--jsonl');
    expect(await printed(running, 1)).toBe(true);
    running.child.kill('SIGINT');
    const run = await running.ended;
    expect([run.code, run.stderr]).toEqual([
      130,
      `oriel: interrupted after 1 of ${files + 1} files\n`,
    ]);
  });

  it('do not delay the exit after --timeout', async () => {
    const { ended } = await startEndless(files, '--timeout', '0.5', '--zip', '-');
    const { code, stderr, stdout } = await ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/ failed.* in [\d.]+ s\n$/)]);
    const manifest = readArchive(stdout).find(({ name }) => name === 'manifest.json');
    const { results } = JSON.parse(String(manifest?.bytes)) as BatchResult;
    const codes = results.slice(1).map(({ error }) => error?.code);
    expect(codes).toEqual(Array(files).fill('timeout'));
  });
});

describe('--fail-fast', () => {
  it('starts no file after the first failure', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['a.jpg', 'c.jpg', 'd.jpg', 'e.jpg']);
    writeFileSync(join(cwd, 'b.jpg'), 'no image');
    const args = words`convert --format webp *.jpg --out out --jobs 1`;
    const run = await resident(words`${args} --fail-fast --jsonl`, { cwd });
    expect(run.status).toBe(1);
    expect(outcomes(linesOf(run))).toEqual([
      ['a.jpg', 'out/a.webp'],
      ['b.jpg', 'unsupported_format'],
      ['c.jpg', 'skipped'],
      ['d.jpg', 'skipped'],
      ['e.jpg', 'skipped'],
    ]);
    expect(run.stderr).toMatch(/^1 of 5 files done, 1 failed, 3 not started: /);
    expect(filesBelow(join(cwd, 'out'))).toEqual(['a.webp']);
  });

  it('lists all files in the document and the manifest', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['b.jpg', 'c.jpg']);
    writeFileSync(join(cwd, 'a.jpg'), 'no image');
    const args = words`convert --format webp -r . --zip all.zip --jobs 1`;
    const run = await resident(words`${args} --fail-fast --json`, { cwd });
    expect(run.status).toBe(1);
    const document = documentOf(run);
    expect(document).toMatchObject({
      status: 'stopped',
      results: [
        { inputFilename: 'a.jpg', status: 'failed' },
        { inputFilename: 'b.jpg', status: 'skipped', reason: { code: 'not_started' } },
        { inputFilename: 'c.jpg', status: 'skipped', reason: { code: 'not_started' } },
      ],
      summary: { total: 3, failed: 1, skipped: 2 },
    });
    const entries = readArchive(readFileSync(join(cwd, 'all.zip')));
    const manifest = JSON.parse(String(entries.at(-1)?.bytes));
    expect(manifest).toMatchObject(document);
  });

  it('finishes files in progress', async () => {
    const cwd = await slowFolder(3);
    const files = ['missing.jpg', '0.png', '1.png', '2.png'];
    const run = await oriel(words`${SLOWLY} ${files} --out out --fail-fast --jsonl`, { cwd });
    expect(run.status).toBe(1);
    const records = linesOf(run);
    expect(records[0]).toMatchObject({ error: { code: 'not_found' } });
    const done = records.filter(({ status }) => status === 'succeeded');
    expect(filesBelow(join(cwd, 'out'))).toEqual(done.map(({ index }) => `${index - 1}.avif`));
    expect(records).toHaveLength(4);
    expect(done).toHaveLength(1);
  });
});
