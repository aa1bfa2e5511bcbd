import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Job, JobResult } from '../../../src/operations/definition/job.ts';
import { inlinePool, poolFor, startPool } from '../../../src/operations/pool/pool.ts';
import { convert } from '../../../src/operations/tools/convert.ts';
import { parseFields } from '../../../src/schema/fields.ts';
import { Threads } from '../../../src/threads/threads.ts';
import { pngOf, quadrants } from '../../fixtures/images.ts';
import { decode, quarters } from '../../pixels.ts';

/** Thread files: one follows the job's instructions, one cannot be loaded. */
const OBEDIENT = fileURLToPath(new URL('../../fixtures/workers/obedient.mjs', import.meta.url));
const BROKEN = fileURLToPath(new URL('../../fixtures/workers/broken.mjs', import.meta.url));

const LIMITS: Job['limits'] = {
  fileBytes: 1e6,
  pixels: 1e6,
  frames: 10,
  side: 1000,
  deadline: 30_000,
  svg: false,
  programs: false,
};

/** A job for the obedient worker. */
function job(operation: string, options: object = {}, deadline = LIMITS.deadline): Job {
  const source = { bytes: new Uint8Array(16) };
  return { operation, options, source, limits: { ...LIMITS, deadline } };
}

async function obedient(threads: number) {
  const pool = await startPool({ threads, worker: OBEDIENT });
  onTestFinished(() => pool.close());
  return pool;
}

type Pool = Awaited<ReturnType<typeof obedient>>;

/** Passes only while as many threads as the pool says are at work at the same time. */
async function expectAllThreads(pool: Pool): Promise<void> {
  const memory = new SharedArrayBuffer(4);
  const jobs = Array.from({ length: pool.size }, () =>
    pool.run(job('meet', { memory, count: pool.size })),
  );
  for (const result of await Promise.all(jobs)) expect(result).toMatchObject({ ok: true });
}

const code = (result: JobResult) => (result.ok ? 'ok' : result.error.code);

describe('a thread pool', () => {
  test('runs as many jobs at once as it has threads', async () => {
    const pool = await obedient(3);
    expect(pool.size).toBe(3);
    await expectAllThreads(pool);
  });

  test('moves the bytes of an input rather than copying them', async () => {
    const pool = await obedient(1);
    const bytes = new Uint8Array([1, 2, 3]);
    const result = await pool.run({ ...job('echo'), source: { bytes } });
    expect(result).toMatchObject({ data: { length: 3 } });
    expect(bytes.byteLength).toBe(0);
  });

  test.each([
    ['reject', 'worker_crashed'],
    ['exit', 'worker_crashed'],
    ['uncaught', 'worker_crashed'],
    ['spin', 'timeout'],
    ['forget', 'timeout'],
  ])('replaces the thread of a job that does %s: %s', async (act, expected) => {
    const pool = await obedient(2);
    // Threads are up before the deadline starts to count.
    await expectAllThreads(pool);
    const words = ['a', 'b', 'c', 'd'];
    const [bad, ...good] = await Promise.all([
      pool.run(job(act, {}, expected === 'timeout' ? 300 : LIMITS.deadline)),
      ...words.map((word) => pool.run(job('echo', { word }))),
    ]);
    expect(bad).toMatchObject({ ok: false, originalSize: 16, error: { code: expected } });
    expect(good.map((result) => result.ok && result.data)).toEqual(
      words.map((echo) => ({ length: 16, echo })),
    );
    await expectAllThreads(pool);
  });

  test('replaces threads of several failing jobs', async () => {
    const pool = await obedient(2);
    const acts = ['exit', 'uncaught', 'reject', 'exit', 'exit', 'uncaught'];
    const results = await Promise.all(acts.map((act) => pool.run(job(act))));
    expect(results.map(code)).toEqual(acts.map(() => 'worker_crashed'));
    await expectAllThreads(pool);
  });

  test('reports the deadline of a job that misses it', async () => {
    const pool = await obedient(1);
    await expectAllThreads(pool);
    const result = await pool.run(job('forget', {}, 250));
    expect(result).toMatchObject({ error: { code: 'timeout', message: 'not done within 0.25 s' } });
  });

  test('of a batch has as many large images at once as a container has memory for', async () => {
    const memory = vi.spyOn(process, 'constrainedMemory').mockReturnValue(5e8);
    onTestFinished(() => memory.mockRestore());
    const work = { milliseconds: 800, files: 8 };
    const pools = await Promise.all([poolFor(work, undefined), poolFor(work, 3)]);
    expect(pools.map(({ size }) => size)).toEqual([1, 3]);
  });

  test('counts the deadline from the start of the job', async () => {
    const [pool, clock] = [await obedient(1), await obedient(1)];
    await expectAllThreads(pool);
    const memory = new SharedArrayBuffer(8);
    const first = pool.run(job('wait', { memory }));
    const second = pool.run(job('echo', { word: 'late' }, 200));
    // Another pool's deadline, as long as the waiting job's, passes meanwhile.
    expect(code(await clock.run(job('forget', {}, 250)))).toBe('timeout');
    Atomics.store(new Int32Array(memory), 0, 1);
    Atomics.notify(new Int32Array(memory), 0);
    expect(await first).toMatchObject({ data: { waited: true } });
    expect(await second).toMatchObject({ data: { echo: 'late' } });
  });

  test('fails running and waiting jobs when it is closed', async () => {
    const pool = await startPool({ threads: 1, worker: OBEDIENT });
    await expectAllThreads(pool);
    const memory = new SharedArrayBuffer(8);
    const results = Promise.all([
      pool.run(job('wait', { memory })),
      pool.run(job('echo')),
      pool.run(job('forget')),
    ]);
    await pool.close();
    expect((await results).map(code)).toEqual(Array(3).fill('worker_crashed'));
  });

  test('fails all jobs where the worker file cannot be loaded', async () => {
    const pool = await startPool({ threads: 2, worker: BROKEN });
    try {
      const jobs = [1, 2, 3, 4].map(() => pool.run(job('echo', {}, 400)));
      for (const result of await Promise.all(jobs)) {
        expect(['worker_crashed', 'timeout']).toContain(code(result));
      }
    } finally {
      await pool.close();
    }
  });

  test('reports a start that fails, at each job anew', async () => {
    const broken = new Threads({ file: 0 as unknown as string, threads: 1 });
    for (const word of ['a', 'b']) {
      const run = broken.run({ name: 'echo', input: job('echo', { word }) });
      await expect(run).rejects.toMatchObject({
        isTimeout: false,
        message: expect.stringMatching(/filename/),
      });
    }
    await broken.close();
  });

  test('shares memory with the threads of other pools', async () => {
    const [one, other] = [await obedient(2), await obedient(1)];
    const first = (await one.run(job('mark'))) as { data: { before: number } };
    const second = (await other.run(job('mark'))) as { data: { before: number } };
    const third = (await one.run(job('mark'))) as { data: { before: number } };
    expect(second.data.before).toBe(first.data.before + 7);
    expect(third.data.before).toBe(first.data.before + 14);
  });
});

describe('a thread pool that clients share', () => {
  /** Occupies the only thread until it is opened. */
  function gate(pool: Pool, client: string) {
    const memory = new SharedArrayBuffer(8);
    const done = pool.run(job('wait', { memory }), { client });
    const open = () => {
      Atomics.store(new Int32Array(memory), 0, 1);
      Atomics.notify(new Int32Array(memory), 0);
      return done;
    };
    return open;
  }

  test('runs jobs of clients by turns', async () => {
    const pool = await obedient(1);
    const open = gate(pool, 'a');
    const order: string[] = [];
    const jobs = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((word) =>
      pool.run(job('echo', { word }), { client: word[0] }).then(() => order.push(word)),
    );
    expect(pool.statistics()).toMatchObject({ waiting: 6, running: 1 });
    await open();
    await Promise.all(jobs);
    expect(order).toEqual(['b1', 'c1', 'a1', 'b2', 'a2', 'a3']);
  });

  test('never starts a job that is aborted while it waits', async () => {
    const pool = await obedient(1);
    const open = gate(pool, 'a');
    const stop = new AbortController();
    const { signal } = stop;
    const called = pool.run(job('echo'), { client: 'a', signal });
    const other = pool.run(job('echo', { word: 'other' }), { client: 'a' });
    stop.abort('left');
    await expect(called).rejects.toBe('left');
    await open();
    expect(await other).toMatchObject({ data: { echo: 'other' } });
    expect(pool.statistics()).toMatchObject({ waiting: 0, running: 0 });
    expect(pool.statistics().finished.get('echo')?.jobs).toBe(1);
  });

  test('finishes a job that is aborted while it runs', async () => {
    const pool = await obedient(1);
    const memory = new SharedArrayBuffer(8);
    const stop = new AbortController();
    const running = pool.run(job('wait', { memory }), { signal: stop.signal });
    while (Atomics.load(new Int32Array(memory), 1) === 0) await new Promise(setImmediate);
    stop.abort();
    Atomics.store(new Int32Array(memory), 0, 1);
    Atomics.notify(new Int32Array(memory), 0);
    expect(await running).toMatchObject({ data: { waited: true } });
  });

  test('counts jobs by operation', async () => {
    const pool = await obedient(2);
    await Promise.all(['echo', 'echo', 'reject'].map((act) => pool.run(job(act))));
    const { finished } = pool.statistics();
    expect(finished.get('echo')).toEqual({ jobs: 2, milliseconds: expect.any(Number) });
    expect(finished.get('reject')?.jobs).toBe(1);
  });
});

describe.each([
  ['threads', () => startPool({ threads: 2 })],
  ['the calling thread', () => (inlinePool as (size: number) => ReturnType<typeof inlinePool>)(2)],
])('a job on %s', (_, start) => {
  const options = parseFields(convert.options, { format: 'png' });

  test('returns pixels or an error', async () => {
    const pool = await start();
    onTestFinished(() => pool.close());
    const image = await quadrants({ width: 20, height: 20 }).webp().toBuffer();
    const run = (operation: string, bytes: Uint8Array) =>
      pool.run({ ...job(operation, options), source: { bytes: new Uint8Array(bytes) } });
    const [good, bad, unknown] = await Promise.all([
      run('convert', image),
      run('convert', image.subarray(0, 40)),
      run('no-such-operation', image),
    ]);
    expect(good).toMatchObject({ ok: true, originalSize: image.length });
    expect(quarters(await decode((good as { image: { bytes: Uint8Array } }).image.bytes))).toBe(
      'RGBW',
    );
    expect(bad).toMatchObject({ ok: false, originalSize: 40, error: { code: 'corrupt_image' } });
    expect(unknown.ok).toBe(false);
  });

  test('reads files, and reports the reason where it cannot', async () => {
    const pool = await start();
    onTestFinished(() => pool.close());
    const read = (path: string) =>
      pool.run({ ...job('hash', { perceptual: 'none' }), source: { path } });
    const itself = fileURLToPath(import.meta.url);
    expect(await read(itself)).toMatchObject({ ok: true });
    const message = (result: JobResult) => (result.ok ? '' : result.error.message);
    expect(message(await read(`${itself}.missing`))).toBe('cannot be read: no such file');
    expect(message(await read(fileURLToPath(new URL('.', import.meta.url))))).toMatch(
      /cannot be read/,
    );
  });

  test('fails with a timeout past its deadline', async () => {
    const pool = await start();
    onTestFinished(() => pool.close());
    const large = await pngOf(quadrants({ width: 1000, height: 1000 }));
    const slow = parseFields(convert.options, { format: 'avif', effort: 9, quality: 90 });
    const { limits } = job('convert', {}, 1);
    const result = await pool.run({
      ...job('convert', slow),
      source: { bytes: new Uint8Array(large) },
      limits,
    });
    expect(code(result)).toBe('timeout');
  });
});
