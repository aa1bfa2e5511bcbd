import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import type { Job, JobResult } from '../../../src/operations/definition/job.ts';
import {
  type SharedPoolOptions,
  startSharedPool,
} from '../../../src/operations/pool/shared-pool.ts';
import { convert } from '../../../src/operations/tools/convert.ts';
import { parseFields } from '../../../src/schema/fields.ts';
import { pngOf, quadrants } from '../../fixtures/images.ts';
import { until } from '../../fixtures/until.ts';
import { ROOT, startProgram, temporaryFolder } from '../../oriel.ts';

/** Process files: one follows the job's instructions, one cannot be loaded. */
const OBEDIENT = fileURLToPath(new URL('../../fixtures/workers/process.mjs', import.meta.url));
const BROKEN = fileURLToPath(new URL('../../fixtures/workers/broken.mjs', import.meta.url));

const MB = 2 ** 20;

function job(operation: string, options: object = {}, deadline = 60_000): Job {
  const source = { bytes: new Uint8Array(16) };
  return { operation, options, source, limits: { ...DEFAULT_LIMITS, deadline } };
}

/** A job that its process gives back until it is granted this much. */
const large = (
  operation: string,
  options: object = {},
  megabytes = 100,
  deadline = 60_000,
): Job => {
  const estimate = { milliseconds: 1, bytes: megabytes * MB };
  return job(operation, { ...options, estimate }, deadline);
};

async function poolOf(options: SharedPoolOptions = {}) {
  const pool = await startSharedPool({ threads: 2, worker: OBEDIENT, ...options });
  onTestFinished(() => pool.close());
  return pool;
}

type Pool = Awaited<ReturnType<typeof poolOf>>;

/** A job that has begun when `begun` resolves, with its process, and ends after `open`. */
function gated(folder: string, name: string) {
  const [begun, gate] = [join(folder, `${name}.begun`), join(folder, `${name}.gate`)];
  return {
    options: { begun, gate },
    get hasBegun() {
      return existsSync(begun);
    },
    async begun(): Promise<number> {
      await until(() => existsSync(begun) && readFileSync(begun, 'utf8') !== '');
      return Number(readFileSync(begun, 'utf8'));
    },
    open: () => writeFileSync(gate, ''),
  };
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const code = (result: JobResult) => (result.ok ? 'ok' : result.error.code);
const echo = (pool: Pool, word: string, client = word) =>
  pool.run(job('echo', { word }), { client });

describe('a worker process', () => {
  test.each([
    ['segv', 'worker_crashed', /SIGSEGV/],
    ['abort', 'worker_crashed', /SIGABRT/],
    ['killed', 'worker_crashed', /SIGKILL/],
    ['exit', 'worker_crashed', /exit code 3/],
    ['uncaught', 'worker_crashed', /exit code 1/],
    ['disconnect', 'worker_crashed', /./],
    ['spin', 'timeout', /not done within 0.3 s/],
    ['forget', 'timeout', /not done within 0.3 s/],
  ])('that does %s fails only its own job: %s', async (act, expected, message) => {
    const pool = await poolOf();
    const bad = pool.run(job(act, {}, expected === 'timeout' ? 300 : 60_000), { client: 'bad' });
    const good = await Promise.all(['a', 'b', 'c'].map((word) => echo(pool, word)));
    expect(good).toMatchObject(['a', 'b', 'c'].map((word) => ({ data: { echo: word } })));
    const result = await bad;
    expect(result).toMatchObject({ ok: false, originalSize: 16, error: { code: expected } });
    expect(!result.ok && result.error.message).toMatch(message);
    expect(await echo(pool, 'after')).toMatchObject({ data: { echo: 'after' } });
    expect(pool.statistics()).toMatchObject({ running: 0, waiting: 0 });
  });

  test('is reused for the next job', async () => {
    const pool = await poolOf();
    const [one, other] = [await echo(pool, 'a'), await echo(pool, 'b')];
    expect((one as { data: { pid: number } }).data.pid).toBe(
      (other as { data: { pid: number } }).data.pid,
    );
  });

  test('that dies of something else has its job repeated, in another process', async () => {
    const pool = await poolOf();
    const { data } = (await echo(pool, 'a')) as { data: { pid: number } };
    // Its exit is reported after the next job was given to it.
    process.kill(data.pid, 'SIGKILL');
    expect(await echo(pool, 'b')).toMatchObject({ data: { echo: 'b' } });
    const wait = gated(temporaryFolder(), 'one');
    const running = pool.run(job('wait', wait.options));
    const pid = await wait.begun();
    process.kill(pid, 'SIGKILL');
    wait.open();
    expect(await running).toMatchObject({ ok: true });
  });

  test('is killed at the deadline', async () => {
    const pool = await poolOf();
    const wait = gated(temporaryFolder(), 'one');
    const running = pool.run(large('wait', wait.options, 100, 500));
    const pid = await wait.begun();
    expect(code(await running)).toBe('timeout');
    await until(() => !lives(pid));
  });

  test('of a large job is killed when its signal aborts', async () => {
    const pool = await poolOf();
    const wait = gated(temporaryFolder(), 'one');
    const stop = new AbortController();
    const running = pool.run(large('wait', wait.options), { signal: stop.signal });
    const pid = await wait.begun();
    stop.abort('left');
    await expect(running).rejects.toBe('left');
    await until(() => !lives(pid));
  });

  test('of a small job finishes when its signal aborts', async () => {
    const pool = await poolOf();
    const wait = gated(temporaryFolder(), 'one');
    const stop = new AbortController();
    const running = pool.run(job('wait', wait.options), { signal: stop.signal });
    const pid = await wait.begun();
    stop.abort('left');
    wait.open();
    expect(await running).toMatchObject({ data: { pid } });
  });

  test('gets no secrets from the environment', async () => {
    process.env['ORIEL_TEST_SECRET'] = 'secret';
    onTestFinished(() => {
      delete process.env['ORIEL_TEST_SECRET'];
    });
    const pool = await poolOf();
    const result = (await pool.run(job('environment'))) as { data: { names: string[] } };
    expect(result.data.names).toContain('PATH');
    expect(result.data.names).not.toContain('ORIEL_TEST_SECRET');
  });

  // A process under way would otherwise outlive a daemon that was killed, for minutes.
  test.runIf(process.platform === 'linux')('ends with the daemon', async () => {
    const folder = temporaryFolder();
    const wait = gated(folder, 'one');
    const script = `
      import { startSharedPool } from ${JSON.stringify(join(ROOT, 'test/.modules/src/operations/pool/shared-pool.js'))};
      const pool = await startSharedPool({ threads: 1, worker: ${JSON.stringify(OBEDIENT)} });
      pool.run(${JSON.stringify({ ...large('wait', wait.options), source: { path: '/dev/null' } })});`;
    const { child, ended } = startProgram(process.execPath, ['--input-type=module', '-e', script]);
    const pid = await wait.begun();
    child.kill('SIGKILL');
    await ended;
    await until(() => !lives(pid));
  });
});

describe('large jobs', () => {
  test('leave slots for small ones, and one for a large job of another client', async () => {
    const pool = await poolOf();
    const folder = temporaryFolder();
    const waits = [1, 2, 3, 4].map((number) => gated(folder, `a${number}`));
    const flood = waits.map(({ options }) => pool.run(large('wait', options), { client: 'a' }));
    const begun = () => waits.filter(({ hasBegun }) => hasBegun).length;
    await until(() => begun() === 2);
    // The account has as many as one may have; its others wait.
    expect(await echo(pool, 'small', 'a')).toMatchObject({ ok: true });
    expect(await echo(pool, 'small', 'b')).toMatchObject({ ok: true });
    expect(await pool.run(large('echo', { word: 'large' }), { client: 'b' })).toMatchObject({
      data: { echo: 'large' },
    });
    expect(begun()).toBe(2);
    for (const wait of waits) wait.open();
    for (const result of await Promise.all(flood)) expect(result.ok).toBe(true);
  });

  test('wait for memory in order of arrival', async () => {
    const pool = await poolOf({ threads: 4, memory: 1000 * MB });
    const folder = temporaryFolder();
    const order: string[] = [];
    const start = (client: string, name: string, megabytes: number) => {
      const wait = gated(folder, name);
      const done = pool
        .run(large('wait', wait.options, megabytes), { client })
        .then(() => order.push(name));
      return { ...wait, begun: () => wait.begun(), done };
    };
    const first = start('a', 'first', 700);
    await first.begun();
    const second = start('b', 'second', 800);
    await until(() => pool.statistics().waiting === 1);
    const third = start('c', 'third', 100);
    await until(() => pool.statistics().waiting === 2);
    second.open();
    third.open();
    first.open();
    await Promise.all([first, second, third].map(({ done }) => done));
    expect(order[0]).toBe('first');
  });

  test('of one client may use three quarters of the memory', async () => {
    const pool = await poolOf({ threads: 4, memory: 1000 * MB });
    const folder = temporaryFolder();
    const [one, two] = [gated(folder, 'one'), gated(folder, 'two')];
    const first = pool.run(large('wait', one.options, 600), { client: 'a' });
    await one.begun();
    const second = pool.run(large('wait', two.options, 300), { client: 'a' });
    await until(() => pool.statistics().waiting === 1);
    expect(await pool.run(large('echo', {}, 400), { client: 'b' })).toMatchObject({ ok: true });
    expect(two.hasBegun).toBe(false);
    one.open();
    two.open();
    expect([code(await first), code(await second)]).toEqual(['ok', 'ok']);
  });

  test('beyond the deadline or the memory are refused at once', async () => {
    const pool = await poolOf({ memory: 500 * MB });
    const estimate = { milliseconds: 90_000, bytes: MB };
    const results = await Promise.all([
      pool.run(job('forget', { estimate })),
      pool.run(large('forget', {}, 501)),
    ]);
    expect(results).toMatchObject([
      {
        originalSize: 16,
        error: {
          code: 'work_exceeds_deadline',
          message: expect.stringContaining('batch.deadline'),
        },
      },
      {
        originalSize: 16,
        error: { code: 'work_exceeds_memory', message: expect.stringContaining('pool.memory') },
      },
    ]);
  });

  test('that were estimated to be small release their slot', async () => {
    const pool = await poolOf({ threads: 1, smallJobTimeoutMs: 300 });
    const folder = temporaryFolder();
    const wait = gated(folder, 'one');
    const underestimated = pool.run(job('wait', wait.options), { client: 'a' });
    await wait.begun();
    // The account's own next one waits until the first is moved, and not for its end.
    expect(await echo(pool, 'next', 'a')).toMatchObject({ data: { echo: 'next' } });
    wait.open();
    expect(code(await underestimated)).toBe('ok');
  });
});

describe('a probe', () => {
  test('succeeds while large jobs run, and fails while no job can start', async () => {
    const pool = await poolOf({ threads: 1 });
    const folder = temporaryFolder();
    const waits = ['a', 'b', 'c'].map((client) => gated(folder, client));
    const [heavy, ...light] = waits;
    const jobs = [pool.run(large('wait', heavy!.options), { client: 'a' })];
    await heavy!.begun();
    expect(await pool.probe(10_000)).toBeNull();
    jobs.push(
      ...light.map(({ options }, number) =>
        pool.run(job('wait', options), { client: `light ${number}` }),
      ),
    );
    await Promise.all(light.map((wait) => wait.begun()));
    expect(await pool.probe(50)).toMatch(/no image work was begun for 0.05 s/);
    for (const wait of waits) wait.open();
    await Promise.all(jobs);
    expect(await pool.probe(10_000)).toBeNull();
  });

  test('reports that processes do not start', async () => {
    const pool = await poolOf({ worker: BROKEN });
    expect(await pool.probe(10_000)).toBeNull();
    expect(code(await echo(pool, 'a'))).toBe('worker_crashed');
    expect(await pool.probe(10_000)).toMatch(/exit code 1/);
  });
});

test('a client with maxWaiting waiting jobs is refused', async () => {
  const pool = await poolOf({ threads: 1 });
  const wait = gated(temporaryFolder(), 'one');
  const first = pool.run(job('wait', wait.options), { client: 'a' });
  await wait.begun();
  const second = pool.run(job('echo'), { client: 'a' });
  const context = { client: 'a', maxWaiting: 1 };
  await expect(pool.run(job('echo'), context)).rejects.toMatchObject({ code: 'too_many_waiting' });
  expect(await pool.run(job('echo'), { client: 'b', maxWaiting: 1 })).toMatchObject({ ok: true });
  wait.open();
  expect([code(await first), code(await second)]).toEqual(['ok', 'ok']);
});

test.runIf(process.platform === 'linux')(
  'a real process refuses a job beyond its grant, and runs others',
  async () => {
    const pool = await startSharedPool({ threads: 2, memory: 300 * MB });
    onTestFinished(() => pool.close());
    const picture = await pngOf(quadrants({ width: 4000, height: 3000 }));
    const run = (options: Record<string, unknown>, deadline = 120_000) =>
      pool.run({
        ...job('convert', parseFields(convert.options, options), deadline),
        source: { bytes: new Uint8Array(picture) },
      });
    const [small, memory, time] = await Promise.all([
      run({ format: 'png', effort: 1 }),
      run({ format: 'avif', effort: 0 }),
      run({ format: 'avif', effort: 9 }, 5000),
    ]);
    expect(code(small)).toBe('ok');
    expect(code(memory)).toBe('work_exceeds_memory');
    expect(code(time)).toBe('work_exceeds_deadline');
  },
);
