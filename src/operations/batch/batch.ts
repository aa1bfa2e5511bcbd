import type { JobImage } from '../definition/job.ts';
import { sizeOf } from '../pool/pool.ts';
import { BatchSummary, type CodedMessage, type FileRecord } from './batch-record.ts';
import {
  type BatchInput,
  type FilesOptions,
  processFiles,
  type StoreResult,
  withStored,
} from './process-files.ts';

/** Receives the records and images of a batch. */
export interface BatchSink<Input extends BatchInput> {
  /** Stores an image in the order of completion; a Failure becomes the file's error. */
  readonly store?: (image: JobImage, input: Input, index: number) => Promise<Partial<FileRecord>>;
  /** Stores an image in the order of the inputs; a Failure ends the batch. */
  readonly append?: (image: JobImage, input: Input, index: number) => Promise<Partial<FileRecord>>;
  /** Called with each record as soon as its file has finished, in any order. */
  readonly onFinish?: (record: FileRecord) => void;
  /** Called with each record in the order of the inputs; the next one waits for the promise. */
  readonly add: (record: FileRecord) => Promise<void>;
}

export interface BatchOptions extends FilesOptions {
  /** Once aborted, `run` rejects with its reason, and nothing more is stored or added. */
  readonly signal?: AbortSignal;
  /** Starts no further file after the first that failed. */
  readonly failFast?: boolean;
}

const NOT_STARTED: CodedMessage = { code: 'not_started', message: 'not started' };

/** Runs one operation over files and passes their records and images to a sink. */
export class Batch<Input extends BatchInput> {
  readonly #inputs: readonly Input[];
  readonly #options: BatchOptions;
  readonly #sink: BatchSink<Input>;
  /** Records of finished files that wait for those of earlier inputs. */
  readonly #waiting = new Map<number, FileRecord>();
  #added = 0;
  #adding = Promise.resolve();
  #finished = 0;
  #isClosed = false;
  /** Counts of the records that were added. */
  readonly summary = new BatchSummary();

  constructor(inputs: readonly Input[], options: BatchOptions, sink: BatchSink<Input>) {
    this.#inputs = inputs;
    this.#options = options;
    this.#sink = sink;
  }

  /** Files that have finished, added or not. */
  get finished(): number {
    return this.#finished;
  }

  /**
   * Runs until each input has a record.
   *
   * @returns `stopped` where `failFast` left files out
   * @throws the signal's reason; an error of the sink
   */
  async run(): Promise<'completed' | 'stopped'> {
    const { signal, failFast = false, ...options } = this.#options;
    const sink = this.#sink;
    const stop = new AbortController();
    const entries = processFiles(this.#inputs, {
      ...options,
      signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
      ...(sink.store && {
        store: async (image, input, index) => {
          signal?.throwIfAborted();
          return sink.store?.(image, input, index);
        },
      }),
      onFinish: (record) => {
        if (this.#isClosed) return;
        this.#finished += 1;
        this.#waiting.set(record.index, record);
        sink.onFinish?.(record);
        if (failFast && record.status === 'failed') stop.abort();
      },
    });
    for await (const { record, images } of entries) {
      signal?.throwIfAborted();
      const stored: StoreResult[] = [];
      for (const image of images) {
        stored.push(await sink.append?.(image, this.#inputs[record.index]!, record.index));
        signal?.throwIfAborted();
      }
      await this.#add(withStored(record, stored));
    }
    signal?.throwIfAborted();
    if (this.#added === this.#inputs.length) return 'completed';
    await this.skipRest(NOT_STARTED);
    return 'stopped';
  }

  /**
   * Adds a record for every input without one, so that a report that ends early is complete. Files
   * that have finished keep their records.
   */
  async skipRest(reason = NOT_STARTED): Promise<void> {
    this.#isClosed = true;
    await this.#adding;
    while (this.#added < this.#inputs.length) {
      const index = this.#added;
      const { filename, source } = this.#inputs[index]!;
      const finished = this.#waiting.get(index);
      // An archive that was not finished contains none of its images.
      const isLost = this.#sink.append !== undefined && finished?.status === 'succeeded';
      await this.#add(
        finished && !isLost
          ? finished
          : {
              ...{ index, inputFilename: filename, status: 'skipped' },
              ...{ originalSize: sizeOf(source), reason },
            },
      );
    }
  }

  #add(record: FileRecord): Promise<void> {
    this.#added = record.index + 1;
    this.#waiting.delete(record.index);
    this.summary.add(record);
    this.#adding = this.#sink.add(record);
    return this.#adding;
  }
}
