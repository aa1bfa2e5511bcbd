import { Failure } from '../failure.ts';
import type { Limits } from '../images/limits.ts';
import type { JobSuccess, Source } from './job.ts';
import type { Operation } from './operation.ts';
import type { ImagePool } from './pool.ts';

/** One file of a batch. */
export interface BatchInput {
  /** As its owner knows it; never used to open anything. */
  readonly filename: string;
  readonly source: Source;
  /** A record that is known before any work: the file is reported with it and not opened. */
  readonly knownRecord?: Omit<FileRecord, 'index' | 'inputFilename'>;
  /** A file that is skipped instead of failed where its format is not read. */
  readonly optional?: boolean;
}

/** A code for programs and a sentence for people. */
export interface CodedMessage {
  readonly code: string;
  readonly message: string;
}

/** One element of `results` (interface part 2.8), with what an image output adds to it. */
export interface FileRecord {
  readonly index: number;
  readonly inputFilename: string;
  /** `skipped` and `planned` (a dry run) are the command line's. */
  readonly status: 'succeeded' | 'failed' | 'skipped' | 'planned';
  /** Bytes; 0 where the input could not be read. */
  readonly originalSize: number;
  readonly outputFilename?: string;
  readonly format?: string;
  readonly width?: number;
  readonly height?: number;
  readonly pages?: number;
  /** Bytes of the output. */
  readonly size?: number;
  readonly sha256?: string;
  readonly data?: object;
  readonly error?: CodedMessage;
  /** Why it was skipped: `output_exists`, `unsupported_format`, `not_started`, `interrupted`. */
  readonly reason?: CodedMessage;
  readonly warnings?: readonly CodedMessage[];
}

type Image = NonNullable<JobSuccess['image']>;

/** A finished file; `image` is there when it succeeded with one that was not delivered yet. */
export interface BatchEntry {
  readonly record: FileRecord;
  readonly image?: Image;
}

export interface BatchOptions<Input extends BatchInput> {
  readonly operation: Operation;
  /** What the operation's schema gave. */
  readonly options: unknown;
  readonly limits: Limits;
  readonly pool: ImagePool;
  /** Aborted: no further file is started; those under way are finished and yielded. */
  readonly signal?: AbortSignal;
  /** Whose files they are, where clients share the pool. */
  readonly client?: string;
  /** Bytes of finished images that may wait for a slow file before them, or for a slow reader. */
  readonly bytesAhead?: number;
  /**
   * Takes a finished image in the order of completion while the file's place among the jobs under
   * way is still held, so that a slow disk slows the reading down. A Failure becomes the file's.
   * Where it gives undefined, the image is yielded in the order of the inputs instead.
   */
  readonly deliver?: (
    image: Image,
    input: Input,
    index: number,
  ) => Promise<Partial<FileRecord> | undefined>;
  /** Told of each file as it finishes, whatever its place in the order. */
  readonly onFinish?: (record: FileRecord) => void;
}

/** Finished records that may wait for a slow file before them. */
const RECORDS_AHEAD = 1024;
/** Bytes of finished images that may wait where the caller does not say how many. */
const BYTES_AHEAD = 64 * 1024 * 1024;

/**
 * Runs one operation over any number of files and yields them in the order of the inputs. Memory
 * is bounded by the pool's size and by what may wait, not by the number of files: inputs are drawn
 * as places fall free, and an unread result stops the drawing.
 */
export async function* runBatch<Input extends BatchInput>(
  inputs: Iterable<Input>,
  options: BatchOptions<Input>,
): AsyncGenerator<BatchEntry> {
  const { pool, signal, bytesAhead = BYTES_AHEAD } = options;
  const iterator = inputs[Symbol.iterator]();
  const finished = new Map<number, BatchEntry>();
  let started = 0;
  let yielded = 0;
  let running = 0;
  /** Of finished images, the one that the reader is busy with included. */
  let bytesWaiting = 0;
  /** Bytes of the largest image so far: what each job under way may be expected to add. */
  let largest = 0;
  let exhausted = false;
  let defect: { readonly error: unknown } | undefined;
  let wake = () => {};

  const mayStart = () =>
    !exhausted &&
    !signal?.aborted &&
    running < pool.size &&
    started - yielded < RECORDS_AHEAD &&
    (bytesWaiting === 0 || bytesWaiting + running * largest < bytesAhead);

  const start = async (input: Input, index: number) => {
    try {
      const entry = await runOne(input, index, options);
      const bytes = entry.image?.bytes.byteLength ?? 0;
      bytesWaiting += bytes;
      largest = Math.max(largest, bytes);
      finished.set(index, entry);
      options.onFinish?.(entry.record);
    } catch (error) {
      // It was still waiting for a thread when nobody wanted it any more.
      const withdrawn = signal?.aborted && error === signal.reason;
      // Not a file's failure but a defect: the reader gets it, and nothing more is started.
      if (!withdrawn) defect ??= { error };
      exhausted = true;
    }
    running -= 1;
    // Not left to the reader: the pool must not idle while a result is being written out.
    fill();
    wake();
  };

  const fill = () => {
    while (mayStart()) {
      const { value, done } = iterator.next();
      if (done) {
        exhausted = true;
        break;
      }
      running += 1;
      void start(value, started);
      started += 1;
    }
  };

  try {
    for (;;) {
      fill();
      if (defect) throw defect.error;
      const entry = finished.get(yielded);
      if (entry) {
        finished.delete(yielded);
        yielded += 1;
        yield entry;
        bytesWaiting -= entry.image?.bytes.byteLength ?? 0;
      } else if (running === 0) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    exhausted = true;
  }
}

async function runOne<Input extends BatchInput>(
  input: Input,
  index: number,
  { operation, options, limits, pool, client, signal, deliver }: BatchOptions<Input>,
): Promise<BatchEntry> {
  const base = { index, inputFilename: input.filename };
  if (input.knownRecord) return { record: { ...base, ...input.knownRecord } };
  const { source } = input;
  const job = { operation: operation.name, options, source, limits };
  const result = await pool.run(job, { client, signal });
  const { originalSize } = result;
  if (!result.ok) {
    const { error } = result;
    const record: FileRecord =
      input.optional && error.code === 'unsupported_format'
        ? { ...base, status: 'skipped', originalSize, reason: error }
        : { ...base, status: 'failed', originalSize, error };
    return { record };
  }

  const { image, data, warnings } = result;
  const done: FileRecord = {
    ...base,
    status: 'succeeded',
    originalSize,
    ...(image && {
      format: image.format,
      width: image.width,
      height: image.height,
      ...(image.pages && { pages: image.pages }),
      size: image.bytes.byteLength,
      sha256: image.sha256,
    }),
    ...(data && { data }),
    ...(warnings.length > 0 && { warnings }),
  };
  if (!image || !deliver) return { record: done, ...(image && { image }) };
  try {
    const delivered = await deliver(image, input, index);
    return delivered ? { record: { ...done, ...delivered } } : { record: done, image };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, message } = error;
    return {
      record: {
        ...base,
        status: 'failed',
        originalSize,
        error: { code: code ?? 'processing_failed', message },
      },
    };
  }
}

export interface BatchTotals {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly originalBytes: number;
  /** Only where files were skipped. */
  readonly skipped?: number;
  /** Only in a dry run. */
  readonly planned?: number;
  /** Only for operations that give images. */
  readonly outputBytes?: number;
}

/** The warning of an output that was kept although its input changed after it was made. */
export const OUTPUT_OUTDATED = 'output_outdated';

/** Counts records as they pass, so that no list of them need be kept for it. */
export class BatchSummary {
  total = 0;
  succeeded = 0;
  failed = 0;
  skipped = 0;
  planned = 0;
  /** How many were skipped, by the code of the reason. */
  readonly reasons = new Map<string, number>();
  /** How many were skipped although their inputs are newer than their outputs. */
  outdated = 0;
  /** Of every file, failed ones included. */
  originalBytes = 0;
  /** Of the files that gave an image: what the outputs replace. */
  convertedBytes = 0;
  outputBytes = 0;

  add({ status, originalSize, size, reason, warnings = [] }: FileRecord): void {
    this.total += 1;
    this[status] += 1;
    if (reason) this.reasons.set(reason.code, (this.reasons.get(reason.code) ?? 0) + 1);
    if (warnings.some(({ code }) => code === OUTPUT_OUTDATED)) this.outdated += 1;
    this.originalBytes += originalSize;
    if (status === 'succeeded' && size !== undefined) {
      this.convertedBytes += originalSize;
      this.outputBytes += size;
    }
  }

  /** The `summary` of interface part 2.8. */
  totals(gives: Operation['gives']): BatchTotals {
    const { total, succeeded, failed, skipped, planned, originalBytes, outputBytes } = this;
    return {
      total,
      succeeded,
      failed,
      originalBytes,
      ...(skipped > 0 && { skipped }),
      ...(planned > 0 && { planned }),
      ...(gives === 'image' && { outputBytes }),
    };
  }
}

/** The whole result of a batch (interface part 2.8); a ZIP's manifest adds `parameters`. */
export interface BatchResult {
  readonly requestId: string;
  readonly operation: string;
  /**
   * Anything but `completed` is the command line's: `stopped` by --fail-fast, `interrupted` by a
   * signal, `failed` where an output could not be written.
   */
  readonly status: 'completed' | 'stopped' | 'interrupted' | 'failed';
  readonly summary: BatchTotals;
  readonly results: readonly FileRecord[];
}
