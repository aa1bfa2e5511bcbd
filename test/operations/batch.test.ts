import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/failure.ts';
import {
  type BatchEntry,
  type BatchInput,
  type BatchOptions,
  BatchSummary,
  type FileRecord,
  runBatch,
} from '../../src/operations/batch.ts';
import { convert } from '../../src/operations/convert.ts';
import type { Job, JobResult } from '../../src/operations/job.ts';
import type { Operation } from '../../src/operations/operation.ts';
import type { ImagePool, JobContext } from '../../src/operations/pool.ts';

const LIMITS: Job['limits'] = {
  fileBytes: 1e6,
  pixels: 1e6,
  frames: 10,
  side: 1000,
  deadline: 1000,
  svg: false,
};

/** A pool whose jobs end when the test says so. */
class HandPool implements ImagePool {
  readonly size: number;
  readonly started: string[] = [];
  readonly #ends = new Map<string, (result: JobResult | Promise<never>) => void>();

  constructor(size: number) {
    this.size = size;
  }

  run({ source }: Job): Promise<JobResult> {
    const name = (source as { path: string }).path;
    this.started.push(name);
    return new Promise((resolve) => this.#ends.set(name, resolve));
  }

  end(name: string, result: JobResult | Promise<never> = success()): void {
    const end = this.#ends.get(name);
    if (!end) throw new Error(`${name} is not under way`);
    this.#ends.delete(name);
    end(result);
  }

  get underWay(): string[] {
    return [...this.#ends.keys()];
  }

  async close(): Promise<void> {}
}

/** A pool whose jobs end at once. */
class QuickPool extends HandPool {
  readonly #result: () => JobResult;

  constructor(size: number, result: () => JobResult = success) {
    super(size);
    this.#result = result;
  }

  override async run({ source }: Job): Promise<JobResult> {
    this.started.push((source as { path: string }).path);
    return this.#result();
  }
}

function success(data: object = { done: true }): JobResult {
  return { ok: true, originalSize: 10, warnings: [], data };
}

function imageOf(bytes: number): JobResult {
  const image = { bytes: new Uint8Array(bytes), format: 'png', width: 3, height: 2 } as const;
  return { ok: true, originalSize: 10, warnings: [], image: { ...image, sha256: 'abc' } };
}

const input = (name: string): BatchInput => ({ filename: `/seen/${name}`, source: { path: name } });

/** Inputs that note when they are drawn. */
function* drawn(names: Iterable<string>, log: string[]): Generator<BatchInput> {
  for (const name of names) {
    log.push(name);
    yield input(name);
  }
}

function* numbers(): Generator<string> {
  for (let index = 0; ; index += 1) yield `${index}`;
}

function start(
  inputs: Iterable<BatchInput>,
  pool: ImagePool,
  options: Partial<BatchOptions<BatchInput>> = {},
): AsyncGenerator<BatchEntry> {
  const operation = convert as unknown as Operation;
  return runBatch(inputs, { operation, options: {}, limits: LIMITS, pool, ...options });
}

/** Lets everything happen that can happen without the test. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

async function collect(entries: AsyncIterable<BatchEntry>): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for await (const { record } of entries) records.push(record);
  return records;
}

describe('order', () => {
  test('is that of the inputs, whatever ends first', async () => {
    const pool = new HandPool(3);
    const records = collect(start(['a', 'b', 'c', 'd'].map(input), pool));
    await quiet();
    for (const name of ['c', 'b', 'd', 'a']) {
      pool.end(name);
      await quiet();
    }
    expect((await records).map(({ index, inputFilename }) => [index, inputFilename])).toEqual([
      [0, '/seen/a'],
      [1, '/seen/b'],
      [2, '/seen/c'],
      [3, '/seen/d'],
    ]);
  });

  test('holds for any size of the pool and any order of ending', async () => {
    const plans = fc.record({
      size: fc.integer({ min: 1, max: 5 }),
      picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(plans, async ({ size, picks }) => {
        const pool = new HandPool(size);
        const names = picks.map((_, index) => `${index}`);
        const records = collect(start(names.map(input), pool));
        for (const pick of picks) {
          await quiet();
          expect(pool.underWay.length).toBeLessThanOrEqual(size);
          pool.end(pool.underWay[pick % pool.underWay.length]!);
        }
        expect((await records).map(({ index }) => `${index}`)).toEqual(names);
      }),
      { numRuns: 30 },
    );
  });

  test('each record carries what became of the file', async () => {
    const pool = new HandPool(3);
    const records = collect(start(['a', 'b', 'c'].map(input), pool));
    await quiet();
    const warnings = [{ code: 'quality_ignored', message: 'no quality' }] as const;
    pool.end('a', { ...(success({ colours: 3 }) as Extract<JobResult, { ok: true }>), warnings });
    pool.end('b', { ok: false, originalSize: 7, error: { code: 'corrupt_image', message: 'cut' } });
    pool.end('c', imageOf(5));
    expect(await records).toEqual([
      {
        index: 0,
        inputFilename: '/seen/a',
        status: 'succeeded',
        originalSize: 10,
        data: { colours: 3 },
        warnings,
      },
      {
        index: 1,
        inputFilename: '/seen/b',
        status: 'failed',
        originalSize: 7,
        error: { code: 'corrupt_image', message: 'cut' },
      },
      {
        index: 2,
        inputFilename: '/seen/c',
        status: 'succeeded',
        originalSize: 10,
        format: 'png',
        width: 3,
        height: 2,
        size: 5,
        sha256: 'abc',
      },
    ]);
  });

  test('no inputs give no entries', async () => {
    expect(await collect(start([], new HandPool(2)))).toEqual([]);
  });
});

describe('drawing', () => {
  test('begins with the first reading, and fills the pool alone', async () => {
    const log: string[] = [];
    const pool = new HandPool(3);
    const entries = start(drawn(numbers(), log), pool);
    await quiet();
    expect(log).toEqual([]);
    const first = entries.next();
    await quiet();
    expect(log).toEqual(['0', '1', '2']);
    pool.end('1');
    await quiet();
    expect(log).toEqual(['0', '1', '2', '3']);
    pool.end('0');
    expect((await first).value?.record.index).toBe(0);
    await entries.return(undefined);
  });

  test('goes on while a result is being read, so that the pool does not idle', async () => {
    const pool = new HandPool(2);
    const entries = start(['a', 'b', 'c', 'd'].map(input), pool);
    const first = entries.next();
    await quiet();
    pool.end('a');
    await first;
    // Nobody reads now.
    pool.end('b');
    await quiet();
    expect(pool.underWay).toEqual(['c', 'd']);
    await entries.return(undefined);
  });

  test('stops where a thousand records wait for a reader', async () => {
    const log: string[] = [];
    const entries = start(drawn(numbers(), log), new QuickPool(4));
    await entries.next();
    await quiet();
    expect(log.length).toBeLessThanOrEqual(1024 + 1);
    const before = log.length;
    await quiet();
    expect(log.length).toBe(before);
    for (let index = 1; index <= 10; index += 1) await entries.next();
    await quiet();
    expect(log.length).toBeGreaterThan(before);
    expect(log.length).toBeLessThanOrEqual(before + 10);
    await entries.return(undefined);
  });

  test.each([
    [64, {}],
    [10, { bytesAhead: 10 * 1024 * 1024 }],
  ])(
    'stops where %i MB of images wait for a reader, and goes on with him',
    async (most, bounds) => {
      const megabyte = 1024 * 1024;
      const log: string[] = [];
      const pool = new QuickPool(4, () => imageOf(megabyte));
      const entries = start(drawn(numbers(), log), pool, bounds);
      await entries.next();
      await quiet();
      expect(log.length).toBeGreaterThan(most - 4);
      expect(log.length).toBeLessThanOrEqual(most + 4 + 1);
      const before = log.length;
      for (let index = 1; index <= 10; index += 1) {
        expect((await entries.next()).value?.record.index).toBe(index);
      }
      await quiet();
      expect(log.length).toBeGreaterThan(before);
      expect(log.length).toBeLessThanOrEqual(before + 10);
      await entries.return(undefined);
    },
  );

  test('ends with the reader', async () => {
    const log: string[] = [];
    for await (const { record } of start(drawn(numbers(), log), new QuickPool(2))) {
      if (record.index === 3) break;
    }
    const before = log.length;
    await quiet();
    expect(log.length).toBe(before);
  });
});

describe('a knownRecord', () => {
  test('stands, and its file is not touched', async () => {
    const pool = new QuickPool(2);
    const knownRecord = {
      status: 'skipped',
      originalSize: 0,
      outputFilename: 'there already',
    } as const;
    const records = await collect(
      start([input('a'), { ...input('b'), knownRecord }, input('c')], pool),
    );
    expect(records[1]).toEqual({ index: 1, inputFilename: '/seen/b', ...knownRecord });
    expect(pool.started).toEqual(['a', 'c']);
  });
});

describe('deliver', () => {
  test('takes images in the order of completion and adds to their records', async () => {
    const pool = new HandPool(2);
    const taken: string[] = [];
    const entries = start(['a', 'b'].map(input), pool, {
      async deliver(image, { filename }, index) {
        taken.push(`${filename} ${index} ${image.bytes.length}`);
        return { outputFilename: `out-${index}` };
      },
    });
    const all = (async () => {
      const found: BatchEntry[] = [];
      for await (const entry of entries) found.push(entry);
      return found;
    })();
    await quiet();
    pool.end('b', imageOf(2));
    await quiet();
    pool.end('a', imageOf(1));
    const [first, second] = await all;
    expect(taken).toEqual(['/seen/b 1 2', '/seen/a 0 1']);
    expect(first!.record).toMatchObject({ outputFilename: 'out-0', size: 1 });
    expect(second!.record).toMatchObject({ outputFilename: 'out-1', size: 2 });
    // What was delivered is no longer held.
    expect([first!.image, second!.image]).toEqual([undefined, undefined]);
  });

  test('leaves an image to the reader where it gives nothing', async () => {
    const deliver = async () => undefined;
    const entries = start([input('a')], new QuickPool(1, () => imageOf(9)), { deliver });
    const { value } = await entries.next();
    expect(value?.image?.bytes.length).toBe(9);
    expect((await entries.next()).done).toBe(true);
  });

  test('holds the place of its file among those under way', async () => {
    const pool = new HandPool(1);
    let delivered = () => {};
    const records = collect(
      start(['a', 'b'].map(input), pool, {
        deliver: () =>
          new Promise((resolve) => {
            delivered = () => resolve({});
          }),
      }),
    );
    await quiet();
    pool.end('a', imageOf(1));
    await quiet();
    expect(pool.started).toEqual(['a']);
    delivered();
    await quiet();
    expect(pool.started).toEqual(['a', 'b']);
    pool.end('b', imageOf(1));
    await quiet();
    delivered();
    expect((await records).length).toBe(2);
  });

  test('has nothing to do with reports and failures', async () => {
    const deliver = () => {
      throw new Error('never called');
    };
    expect(await collect(start([input('a')], new QuickPool(1), { deliver }))).toHaveLength(1);
  });

  test.each([
    [new Failure('invalid_request', 'taken', { code: 'output_exists' }), 'output_exists'],
    [new Failure('unknown', 'nowhere to go'), 'processing_failed'],
  ])('fails its file alone by a Failure: %s', async (failure, code) => {
    const records = await collect(
      start(['a', 'b'].map(input), new QuickPool(1, () => imageOf(4)), {
        async deliver(_image, _input, index) {
          if (index === 0) throw failure;
          return {};
        },
      }),
    );
    expect(records[0]).toEqual({
      index: 0,
      inputFilename: '/seen/a',
      status: 'failed',
      originalSize: 10,
      error: { code, message: failure.message },
    });
    expect(records[1]!.status).toBe('succeeded');
  });
});

describe('a defect', () => {
  test('of delivering reaches the reader, and nothing more is started', async () => {
    const pool = new HandPool(2);
    const records = collect(
      start(['a', 'b', 'c', 'd'].map(input), pool, {
        deliver: () => Promise.reject(new TypeError('a slip')),
      }),
    );
    const caught = expect(records).rejects.toThrow(new TypeError('a slip'));
    await quiet();
    pool.end('b', imageOf(1));
    await caught;
    await quiet();
    expect(pool.started).toEqual(['a', 'b']);
  });

  test('of the pool reaches the reader', async () => {
    const pool = new HandPool(1);
    const caught = expect(collect(start([input('a'), input('b')], pool))).rejects.toThrow('fell');
    await quiet();
    pool.end('a', Promise.reject(new Error('fell')));
    await caught;
    expect(pool.started).toEqual(['a']);
  });

  test('of telling reaches the reader', async () => {
    const onFinish = () => {
      throw new Error('no listener');
    };
    const records = collect(start([input('a')], new QuickPool(1), { onFinish }));
    await expect(records).rejects.toThrow('no listener');
  });
});

describe('a signal', () => {
  test('lets what is under way finish, and starts nothing more', async () => {
    const pool = new HandPool(2);
    const abort = new AbortController();
    const records = collect(start(['a', 'b', 'c', 'd'].map(input), pool, { signal: abort.signal }));
    await quiet();
    pool.end('a');
    await quiet();
    abort.abort();
    pool.end('c');
    pool.end('b');
    expect((await records).map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(pool.started).toEqual(['a', 'b', 'c']);
  });

  test('withdraws what still waits for a thread', async () => {
    const abort = new AbortController();
    const turns: (JobContext | undefined)[] = [];
    const pool = new HandPool(2);
    const run = pool.run.bind(pool);
    pool.run = (job: Job, turn?: JobContext) => {
      turns.push(turn);
      if (pool.started.length === 0) return run(job);
      return new Promise((_, reject) => {
        turn!.signal!.addEventListener('abort', () => reject(turn!.signal!.reason));
      });
    };
    const options = { signal: abort.signal, client: 'somebody' };
    const records = collect(start(['a', 'b', 'c'].map(input), pool, options));
    await quiet();
    abort.abort();
    await quiet();
    pool.end('a');
    expect((await records).map(({ index }) => index)).toEqual([0]);
    expect(turns).toEqual([options, options].map(({ client, signal }) => ({ client, signal })));
  });

  test('given beforehand starts nothing', async () => {
    const pool = new HandPool(2);
    const records = await collect(start([input('a')], pool, { signal: AbortSignal.abort() }));
    expect([records, pool.started]).toEqual([[], []]);
  });
});

test('onFinish is told of each file as it ends', async () => {
  const pool = new HandPool(3);
  const told: number[] = [];
  const records = collect(
    start(['a', 'b', 'c'].map(input), pool, { onFinish: ({ index }) => told.push(index) }),
  );
  await quiet();
  for (const name of ['c', 'a', 'b']) {
    pool.end(name);
    await quiet();
  }
  await records;
  expect(told).toEqual([2, 0, 1]);
});

test('a summary counts every kind of record', () => {
  const summary = new BatchSummary();
  const base = { index: 0, inputFilename: 'a', originalSize: 100 };
  summary.add({ ...base, status: 'succeeded', size: 40 });
  summary.add({ ...base, status: 'succeeded', size: 10 });
  summary.add({ ...base, status: 'failed' });
  summary.add({ ...base, status: 'skipped', originalSize: 0 });
  expect(summary.totals('image')).toEqual({
    total: 4,
    succeeded: 2,
    failed: 1,
    skipped: 1,
    originalBytes: 300,
    outputBytes: 50,
  });
  expect(summary.totals('data')).not.toHaveProperty('outputBytes');
  expect(summary.convertedBytes).toBe(200);
});
