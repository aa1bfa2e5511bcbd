import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { Batch, type BatchOptions, type BatchSink } from '../../../src/operations/batch/batch.ts';
import { BatchSummary, type FileRecord } from '../../../src/operations/batch/batch-record.ts';
import {
  type BatchEntry,
  type BatchInput,
  type ProcessFilesOptions,
  processFiles,
} from '../../../src/operations/batch/process-files.ts';
import type { Job, JobResult } from '../../../src/operations/definition/job.ts';
import type { Operation } from '../../../src/operations/definition/operation.ts';
import type { ImagePool, JobContext } from '../../../src/operations/pool/pool.ts';
import { convert } from '../../../src/operations/tools/convert.ts';

const LIMITS: Job['limits'] = {
  fileBytes: 1e6,
  pixels: 1e6,
  frames: 10,
  side: 1000,
  deadline: 1000,
  svg: false,
  programs: false,
};

/** A pool whose jobs end when the test calls `end`. */
class ManualPool implements ImagePool {
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
    if (!end) throw new Error(`${name} is not in progress`);
    this.#ends.delete(name);
    end(result);
  }

  get inProgress(): string[] {
    return [...this.#ends.keys()];
  }

  async close(): Promise<void> {}
}

/** A pool whose jobs end immediately. */
class QuickPool extends ManualPool {
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

/** Inputs that log when they are read. */
function* logged(names: Iterable<string>, log: string[]): Generator<BatchInput> {
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
  options: Partial<ProcessFilesOptions<BatchInput>> = {},
): AsyncGenerator<BatchEntry> {
  const operation = convert as unknown as Operation;
  return processFiles(inputs, { operation, options: {}, limits: LIMITS, pool, ...options });
}

/** Waits until all pending promises have settled. */
async function settled(): Promise<void> {
  for (let tick = 0; tick < 50; tick += 1) await new Promise(setImmediate);
}

async function collect(entries: AsyncIterable<BatchEntry>): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for await (const { record } of entries) records.push(record);
  return records;
}

describe('processFiles: order', () => {
  test('yields records in the order of the inputs, whichever job ends first', async () => {
    const pool = new ManualPool(3);
    const records = collect(start(['a', 'b', 'c', 'd'].map(input), pool));
    await settled();
    for (const name of ['c', 'b', 'd', 'a']) {
      pool.end(name);
      await settled();
    }
    expect((await records).map(({ index, inputFilename }) => [index, inputFilename])).toEqual([
      [0, '/seen/a'],
      [1, '/seen/b'],
      [2, '/seen/c'],
      [3, '/seen/d'],
    ]);
  });

  test('keeps the order for any pool size and any order of completion', async () => {
    const plans = fc.record({
      size: fc.integer({ min: 1, max: 5 }),
      picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(plans, async ({ size, picks }) => {
        const pool = new ManualPool(size);
        const names = picks.map((_, index) => `${index}`);
        const records = collect(start(names.map(input), pool));
        for (const pick of picks) {
          await settled();
          expect(pool.inProgress.length).toBeLessThanOrEqual(size);
          pool.end(pool.inProgress[pick % pool.inProgress.length]!);
        }
        expect((await records).map(({ index }) => `${index}`)).toEqual(names);
      }),
      { numRuns: 30 },
    );
  });

  test('yields the data, the error or the image properties of each file', async () => {
    const pool = new ManualPool(3);
    const records = collect(start(['a', 'b', 'c'].map(input), pool));
    await settled();
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

  test('yields nothing without inputs', async () => {
    expect(await collect(start([], new ManualPool(2)))).toEqual([]);
  });
});

describe('processFiles: reading of inputs', () => {
  test('starts with the first `next`, and reads as many inputs as the pool has slots', async () => {
    const log: string[] = [];
    const pool = new ManualPool(3);
    const entries = start(logged(numbers(), log), pool);
    await settled();
    expect(log).toEqual([]);
    const first = entries.next();
    await settled();
    expect(log).toEqual(['0', '1', '2']);
    pool.end('1');
    await settled();
    expect(log).toEqual(['0', '1', '2', '3']);
    pool.end('0');
    expect((await first).value?.record.index).toBe(0);
    await entries.return(undefined);
  });

  test('continues while the reader handles a result, so that the pool does not idle', async () => {
    const pool = new ManualPool(2);
    const entries = start(['a', 'b', 'c', 'd'].map(input), pool);
    const first = entries.next();
    await settled();
    pool.end('a');
    await first;
    // The reader calls no `next` from here on.
    pool.end('b');
    await settled();
    expect(pool.inProgress).toEqual(['c', 'd']);
    await entries.return(undefined);
  });

  test('pauses while 1024 records wait for the reader', async () => {
    const log: string[] = [];
    const entries = start(logged(numbers(), log), new QuickPool(4));
    await entries.next();
    await settled();
    expect(log.length).toBeLessThanOrEqual(1024 + 1);
    const before = log.length;
    await settled();
    expect(log.length).toBe(before);
    for (let index = 1; index <= 10; index += 1) await entries.next();
    await settled();
    expect(log.length).toBeGreaterThan(before);
    expect(log.length).toBeLessThanOrEqual(before + 10);
    await entries.return(undefined);
  });

  test.each([
    [64, {}],
    [10, { bytesAhead: 10 * 1024 * 1024 }],
  ])(
    'pauses while %i MB of images wait for the reader, and continues as they are read',
    async (most, bounds) => {
      const megabyte = 1024 * 1024;
      const log: string[] = [];
      const pool = new QuickPool(4, () => imageOf(megabyte));
      const entries = start(logged(numbers(), log), pool, bounds);
      await entries.next();
      await settled();
      expect(log.length).toBeGreaterThan(most - 4);
      expect(log.length).toBeLessThanOrEqual(most + 4 + 1);
      const before = log.length;
      for (let index = 1; index <= 10; index += 1) {
        expect((await entries.next()).value?.record.index).toBe(index);
      }
      await settled();
      expect(log.length).toBeGreaterThan(before);
      expect(log.length).toBeLessThanOrEqual(before + 10);
      await entries.return(undefined);
    },
  );

  test('ends when the reader breaks out of the loop', async () => {
    const log: string[] = [];
    for await (const { record } of start(logged(numbers(), log), new QuickPool(2))) {
      if (record.index === 3) break;
    }
    const before = log.length;
    await settled();
    expect(log.length).toBe(before);
  });
});

describe('processFiles: a known record', () => {
  test('is yielded, and its file is not opened', async () => {
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

describe('processFiles: store', () => {
  test('gets images in the order of completion, and its result is added to the record', async () => {
    const pool = new ManualPool(2);
    const got: string[] = [];
    const entries = start(['a', 'b'].map(input), pool, {
      async store(image, { filename }, index) {
        got.push(`${filename} ${index} ${image.bytes.length}`);
        return { outputFilename: `out-${index}` };
      },
    });
    const all = (async () => {
      const found: BatchEntry[] = [];
      for await (const entry of entries) found.push(entry);
      return found;
    })();
    await settled();
    pool.end('b', imageOf(2));
    await settled();
    pool.end('a', imageOf(1));
    const [first, second] = await all;
    expect(got).toEqual(['/seen/b 1 2', '/seen/a 0 1']);
    expect(first!.record).toMatchObject({ outputFilename: 'out-0', size: 1 });
    expect(second!.record).toMatchObject({ outputFilename: 'out-1', size: 2 });
    // The generator keeps no reference to a stored image.
    expect([first!.images, second!.images]).toEqual([[], []]);
  });

  test('that returns undefined leaves the image to the reader', async () => {
    const store = async () => undefined;
    const entries = start([input('a')], new QuickPool(1, () => imageOf(9)), { store });
    const { value } = await entries.next();
    expect(value?.images[0]?.bytes.length).toBe(9);
    expect((await entries.next()).done).toBe(true);
  });

  test('holds the slot of its file until it has stored the image', async () => {
    const pool = new ManualPool(1);
    let stored = () => {};
    const records = collect(
      start(['a', 'b'].map(input), pool, {
        store: () =>
          new Promise((resolve) => {
            stored = () => resolve({});
          }),
      }),
    );
    await settled();
    pool.end('a', imageOf(1));
    await settled();
    expect(pool.started).toEqual(['a']);
    stored();
    await settled();
    expect(pool.started).toEqual(['a', 'b']);
    pool.end('b', imageOf(1));
    await settled();
    stored();
    expect((await records).length).toBe(2);
  });

  test('is not called for data and failures', async () => {
    const store = () => {
      throw new Error('never called');
    };
    expect(await collect(start([input('a')], new QuickPool(1), { store }))).toHaveLength(1);
  });

  test.each([
    [new Failure('invalid_request', 'got', { code: 'output_exists' }), 'output_exists'],
    [new Failure('unknown', 'nowhere to go'), 'processing_failed'],
  ])('that throws a Failure fails only its file: %s', async (failure, code) => {
    const records = await collect(
      start(['a', 'b'].map(input), new QuickPool(1, () => imageOf(4)), {
        async store(_image, _input, index) {
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

describe('processFiles: an unexpected error', () => {
  test('of `store` is thrown to the reader, and nothing more is started', async () => {
    const pool = new ManualPool(2);
    const records = collect(
      start(['a', 'b', 'c', 'd'].map(input), pool, {
        store: () => Promise.reject(new TypeError('a slip')),
      }),
    );
    const caught = expect(records).rejects.toThrow(new TypeError('a slip'));
    await settled();
    pool.end('b', imageOf(1));
    await caught;
    await settled();
    expect(pool.started).toEqual(['a', 'b']);
  });

  test('of the pool is thrown to the reader', async () => {
    const pool = new ManualPool(1);
    const caught = expect(collect(start([input('a'), input('b')], pool))).rejects.toThrow('fell');
    await settled();
    pool.end('a', Promise.reject(new Error('fell')));
    await caught;
    expect(pool.started).toEqual(['a']);
  });

  test('of `onFinish` is thrown to the reader', async () => {
    const onFinish = () => {
      throw new Error('no listener');
    };
    const records = collect(start([input('a')], new QuickPool(1), { onFinish }));
    await expect(records).rejects.toThrow('no listener');
  });
});

describe('processFiles: an aborted signal', () => {
  test('lets jobs in progress finish, and starts nothing more', async () => {
    const pool = new ManualPool(2);
    const abort = new AbortController();
    const records = collect(start(['a', 'b', 'c', 'd'].map(input), pool, { signal: abort.signal }));
    await settled();
    pool.end('a');
    await settled();
    abort.abort();
    pool.end('c');
    pool.end('b');
    expect((await records).map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(pool.started).toEqual(['a', 'b', 'c']);
  });

  test('withdraws jobs that wait for a thread', async () => {
    const abort = new AbortController();
    const contexts: (JobContext | undefined)[] = [];
    const pool = new ManualPool(2);
    const run = pool.run.bind(pool);
    pool.run = (job: Job, context?: JobContext) => {
      contexts.push(context);
      if (pool.started.length === 0) return run(job);
      return new Promise((_, reject) => {
        context!.signal!.addEventListener('abort', () => reject(context!.signal!.reason));
      });
    };
    const options = { signal: abort.signal, client: 'somebody' };
    const records = collect(start(['a', 'b', 'c'].map(input), pool, options));
    await settled();
    abort.abort();
    await settled();
    pool.end('a');
    expect((await records).map(({ index }) => index)).toEqual([0]);
    expect(contexts).toEqual([options, options].map(({ client, signal }) => ({ client, signal })));
  });

  test('that was aborted before the start starts nothing', async () => {
    const pool = new ManualPool(2);
    const records = await collect(start([input('a')], pool, { signal: AbortSignal.abort() }));
    expect([records, pool.started]).toEqual([[], []]);
  });
});

test('processFiles calls onFinish for each file as it ends', async () => {
  const pool = new ManualPool(3);
  const finished: number[] = [];
  const records = collect(
    start(['a', 'b', 'c'].map(input), pool, { onFinish: ({ index }) => finished.push(index) }),
  );
  await settled();
  for (const name of ['c', 'a', 'b']) {
    pool.end(name);
    await settled();
  }
  await records;
  expect(finished).toEqual([2, 0, 1]);
});

test('BatchSummary counts every kind of record', () => {
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

describe('Batch', () => {
  /** A sink that stores no image and keeps all records. */
  class RecordSink implements BatchSink<BatchInput> {
    readonly records: FileRecord[] = [];

    async add(record: FileRecord): Promise<void> {
      this.records.push(record);
    }

    get outcomes(): string[] {
      return this.records.map(({ inputFilename, status, reason }) =>
        [inputFilename.slice('/seen/'.length), status, reason?.code].filter(Boolean).join(' '),
      );
    }
  }

  function batchOf(
    names: readonly string[],
    pool: ImagePool,
    sink: BatchSink<BatchInput>,
    options: Partial<BatchOptions> = {},
  ): Batch<BatchInput> {
    const operation = convert as unknown as Operation;
    const all = { operation, options: {}, limits: LIMITS, pool, ...options };
    return new Batch(names.map(input), all, sink);
  }

  const REASON = { code: 'interrupted', message: 'interrupted' };
  const failure = {
    ok: false,
    originalSize: 1,
    error: { code: 'corrupt_image', message: '' },
  } as const;

  test('adds each record in the order of the inputs and counts it', async () => {
    const pool = new ManualPool(2);
    const sink = new RecordSink();
    const batch = batchOf(['a', 'b'], pool, sink);
    const ended = batch.run();
    await settled();
    pool.end('b', failure);
    await settled();
    expect([batch.finished, sink.outcomes]).toEqual([1, []]);
    pool.end('a');
    expect(await ended).toBe('completed');
    expect(sink.outcomes).toEqual(['a succeeded', 'b failed']);
    expect(batch.summary).toMatchObject({ total: 2, succeeded: 1, failed: 1 });
  });

  test('appends images in the order of the inputs, and adds the result to the record', async () => {
    const pool = new ManualPool(2);
    const sink = Object.assign(new RecordSink(), {
      append: async (_: unknown, { filename }: BatchInput) => ({
        outputFilename: `${filename}.png`,
      }),
    });
    const ended = batchOf(['a', 'b'], pool, sink).run();
    await settled();
    pool.end('b', imageOf(1));
    pool.end('a', imageOf(1));
    await ended;
    expect(sink.records.map(({ outputFilename }) => outputFilename)).toEqual([
      '/seen/a.png',
      '/seen/b.png',
    ]);
  });

  test('with failFast finishes jobs in progress and skips the rest', async () => {
    const pool = new ManualPool(2);
    const sink = new RecordSink();
    const ended = batchOf(['a', 'b', 'c', 'd'], pool, sink, { failFast: true }).run();
    await settled();
    pool.end('b', failure);
    pool.end('a');
    expect(await ended).toBe('stopped');
    const skipped = ['c skipped not_started', 'd skipped not_started'];
    expect(sink.outcomes).toEqual(['a succeeded', 'b failed', ...skipped]);
    expect(pool.started).toEqual(['a', 'b']);
  });

  test('rejects with the reason of its signal, and adds and stores nothing afterwards', async () => {
    const pool = new ManualPool(2);
    const abort = new AbortController();
    const stored: string[] = [];
    const sink = Object.assign(new RecordSink(), {
      store: async (_: unknown, { filename }: BatchInput) => {
        stored.push(filename);
        return {};
      },
    });
    const ended = batchOf(['a', 'b', 'c'], pool, sink, { signal: abort.signal }).run();
    const caught = expect(ended).rejects.toBe('gone');
    await settled();
    abort.abort('gone');
    pool.end('a', imageOf(1));
    pool.end('b');
    await caught;
    expect([sink.records, stored]).toEqual([[], []]);
  });

  test('skipRest adds the records of finished files and skips the others', async () => {
    const pool = new ManualPool(3);
    const abort = new AbortController();
    const sink = new RecordSink();
    const batch = batchOf(['a', 'b', 'c', 'd'], pool, sink, { signal: abort.signal });
    batch.run().catch(() => {});
    await settled();
    pool.end('a');
    pool.end('c');
    await settled();
    abort.abort();
    await batch.skipRest(REASON);
    pool.end('b');
    await settled();
    const skipped = ['b skipped interrupted', 'c succeeded', 'd skipped interrupted'];
    expect(sink.outcomes).toEqual(['a succeeded', ...skipped]);
    expect(batch.finished).toBe(2);
  });

  test('skipRest skips finished files whose image was not appended', async () => {
    const pool = new ManualPool(2);
    const sink = Object.assign(new RecordSink(), { append: async () => ({}) });
    const batch = batchOf(['a', 'b'], pool, sink);
    void batch.run().catch(() => {});
    await settled();
    pool.end('b', imageOf(1));
    await settled();
    await batch.skipRest(REASON);
    expect(sink.outcomes).toEqual(['a skipped interrupted', 'b skipped interrupted']);
  });
});
