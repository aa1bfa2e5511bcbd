import { Failure } from '../../failure.ts';
import type { TextVariables } from '../../images/input.ts';
import type { Limits } from '../../images/limits.ts';
import type { Job, JobImage, NamedImages, Source } from '../definition/job.ts';
import { imagesOf, type Operation } from '../definition/operation.ts';
import type { ImagePool } from '../pool/pool.ts';
import { type CodedMessage, type FileRecord, resultRecord } from './batch-record.ts';

/** One file of a batch. */
export interface BatchInput {
  /** The user's name for the file; never used to open it. */
  readonly filename: string;
  readonly source: Source;
  /** A record that is known before any work: the file is reported with it and not opened. */
  readonly knownRecord?: Omit<FileRecord, 'index' | 'inputFilename'>;
  /** Skipped instead of failed where its format is not read. */
  readonly optional?: boolean;
  /** Options of this file, beside those of the batch. */
  readonly options?: object;
  readonly variables?: Partial<TextVariables> | undefined;
}

/** A finished file; `images` are those of its outputs that were not stored yet. */
export interface BatchEntry {
  readonly record: FileRecord;
  readonly images: readonly JobImage[];
}

export interface FilesOptions {
  readonly operation: Pick<Operation, 'name'>;
  /** Returns the date of a picture with its image. */
  readonly taken?: boolean;
  /** Output of the operation's schema. */
  readonly options: unknown;
  readonly images?: NamedImages | undefined;
  readonly limits: Limits;
  readonly pool: ImagePool;
  /** The client that the files belong to, where clients share the pool. */
  readonly client?: string;
  /** Codes of warnings that fail a file, whose images are then not stored, with the advice for its message. */
  readonly failOn?: Readonly<Record<string, string>>;
  /** Bytes of finished images that may wait for a slower file before them, or for a slow reader. */
  readonly bytesAhead?: number;
}

export interface ProcessFilesOptions<Input extends BatchInput> extends FilesOptions {
  /** Once aborted, no further file is started; those in progress are finished and yielded. */
  readonly signal?: AbortSignal;
  /**
   * Stores a finished image in the order of completion while the file's slot in the pool is still
   * held, so that a slow disk slows the reading down. A Failure becomes the file's error. Where it
   * returns undefined, the image is yielded in the order of the inputs instead.
   */
  readonly store?: (
    image: JobImage,
    input: Input,
    index: number,
  ) => Promise<Partial<FileRecord> | undefined>;
  /** Called with each record as soon as its file has finished, in any order. */
  readonly onFinish?: (record: FileRecord) => void;
}

/** Finished records that may wait for a slower file before them. */
const MAX_RECORDS_AHEAD = 1024;
/** Default of `bytesAhead`. */
const DEFAULT_BYTES_AHEAD = 64 * 1024 * 1024;

/**
 * Runs one operation over any number of files and yields them in the order of the inputs. Memory is
 * bounded by the pool's size, MAX_RECORDS_AHEAD and `bytesAhead`, not by the number of files: an
 * input is read from the iterable when the pool has a free slot, and results that wait for the
 * reader stop the reading of inputs.
 */
export async function* processFiles<Input extends BatchInput>(
  inputs: Iterable<Input>,
  options: ProcessFilesOptions<Input>,
): AsyncGenerator<BatchEntry> {
  const { pool, signal, bytesAhead = DEFAULT_BYTES_AHEAD } = options;
  const iterator = inputs[Symbol.iterator]();
  const finished = new Map<number, BatchEntry>();
  let started = 0;
  let yielded = 0;
  let running = 0;
  /** Bytes of finished images, including the one that the reader is handling. */
  let bytesWaiting = 0;
  /** Bytes of the largest image so far: the estimate for each job in progress. */
  let largest = 0;
  let exhausted = false;
  let defect: { readonly error: unknown } | undefined;
  let wake = () => {};

  const mayStart = () =>
    !exhausted &&
    !signal?.aborted &&
    running < pool.size &&
    started - yielded < MAX_RECORDS_AHEAD &&
    (bytesWaiting === 0 || bytesWaiting + running * largest < bytesAhead);

  const start = async (input: Input, index: number) => {
    try {
      const entry = await runOne(input, index, options);
      const bytes = bytesOf(entry);
      bytesWaiting += bytes;
      largest = Math.max(largest, bytes);
      finished.set(index, entry);
      options.onFinish?.(entry.record);
    } catch (error) {
      // The job was still waiting for a thread when the signal aborted.
      const withdrawn = signal?.aborted && error === signal.reason;
      // Not a file's failure but a defect: the generator throws it, and nothing more is started.
      if (!withdrawn) defect ??= { error };
      exhausted = true;
    }
    running -= 1;
    // Called here and not only by the reader: the pool must not idle while a result is written.
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
        bytesWaiting -= bytesOf(entry);
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
  batch: ProcessFilesOptions<Input>,
): Promise<BatchEntry> {
  const { options, limits, client, signal, store, failOn = {} } = batch;
  const base = { index, inputFilename: input.filename };
  if (input.knownRecord) return { record: { ...base, ...input.knownRecord }, images: [] };
  const { source, variables } = input;
  const own = input.options ? { ...(options as object), ...input.options } : options;
  const job: Job = {
    ...{ operation: batch.operation.name, options: own, source, limits },
    ...(batch.images && { images: batch.images }),
    ...(variables && { variables }),
    ...(batch.taken && { taken: true }),
  };
  const result = await batch.pool.run(job, { client, signal });
  const { originalSize } = result;
  const failed = (error: CodedMessage, outputs?: FileRecord['outputs']): BatchEntry => ({
    record: { ...base, status: 'failed', originalSize, ...(outputs && { outputs }), error },
    images: [],
  });
  if (!result.ok) {
    const { error } = result;
    if (!input.optional || error.code !== 'unsupported_format') return failed(error);
    return { record: { ...base, status: 'skipped', originalSize, reason: error }, images: [] };
  }
  const refused = result.warnings.find(({ code }) => code in failOn);
  if (refused) {
    const { code, message } = refused;
    return failed({ code, message: `${message}; ${failOn[code]}` });
  }
  const all = imagesOf(result);
  const done: FileRecord = {
    ...base,
    status: result.planned ? 'planned' : 'succeeded',
    originalSize,
    ...resultRecord(result, ({ bytes }) => bytes.byteLength),
    ...(result.cached && { cached: true }),
  };
  if (!store) return { record: done, images: all };
  const stored: StoreResult[] = [];
  try {
    for (const image of all) stored.push(await store(image, input, index));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, message } = error;
    // Those that were written before stay.
    const written = result.images && withStored(done, stored).outputs!.slice(0, stored.length);
    return failed({ code: code ?? 'processing_failed', message }, written);
  }
  const isStored = stored.every((one) => one !== undefined);
  return { record: withStored(done, stored), images: isStored ? [] : all };
}

/** What storing an image adds to its record. */
export type StoreResult = Partial<FileRecord> | undefined;

/** A record with what storing its images has added, in their order. */
export function withStored(record: FileRecord, stored: readonly StoreResult[]): FileRecord {
  if (!record.outputs) return { ...record, ...stored[0] };
  const skipped = stored.length > 0 && stored.every((one) => one?.status === 'skipped');
  const outputs = record.outputs.map((output, index) => {
    const { outputFilename, reason } = stored[index] ?? {};
    return { ...(outputFilename && { outputFilename }), ...output, ...(reason && { reason }) };
  });
  const changed = stored.find((one) => one?.status === 'planned');
  return {
    ...record,
    ...(skipped && { status: 'skipped', reason: stored[0]!.reason! }),
    ...(changed && { status: 'planned', reason: changed.reason! }),
    outputs,
  };
}

function bytesOf({ images }: BatchEntry): number {
  return images.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}
