import type { Operation, SomeImages } from '../definition/operation.ts';

/** A code for programs and a sentence for people. */
export interface CodedMessage {
  readonly code: string;
  readonly message: string;
}

/** Properties of one output. */
export interface OutputRecord {
  readonly outputFilename?: string;
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly pages?: number;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
  /** Why it was not written, where the others were. */
  readonly reason?: CodedMessage;
}

/** One element of `results` in a report, with the properties of its output image. */
export interface FileRecord extends Partial<OutputRecord> {
  readonly index: number;
  readonly inputFilename: string;
  /** Only the command line has `skipped` and `planned` (a dry run). */
  readonly status: 'succeeded' | 'failed' | 'skipped' | 'planned';
  /** Bytes; 0 where the input could not be read. */
  readonly originalSize: number;
  /** The outputs of an operation that gives several for one input. */
  readonly outputs?: readonly OutputRecord[];
  readonly data?: object;
  readonly error?: CodedMessage;
  /**
   * Why it was skipped: `output_exists`, `unchanged`, `unsupported_format`, `not_started`, `interrupted`;
   * or why it would change: `output_missing`, `output_differs`.
   */
  readonly reason?: CodedMessage;
  readonly warnings?: readonly CodedMessage[];
  /** Whether the result comes from a cache; only on the command line. */
  readonly cached?: true;
}

/** The part of a record that describes the result of a job. */
export function resultRecord<Image extends Omit<OutputRecord, 'size'>>(
  {
    image,
    images,
    data,
    warnings,
  }: Pick<FileRecord, 'data'> & Required<Pick<FileRecord, 'warnings'>> & SomeImages<Image>,
  sizeOf: (image: Image) => number,
): Partial<FileRecord> {
  const outputRecord = (one: Image): OutputRecord => {
    const { format, width, height, pages, sha256 } = one;
    return { format, width, height, ...(pages && { pages }), size: sizeOf(one), sha256 };
  };
  return {
    ...(image && outputRecord(image)),
    ...(images && { outputs: images.map(outputRecord) }),
    ...(data && { data }),
    ...(warnings.length > 0 && { warnings }),
  };
}

function bytesOf(outputs: readonly OutputRecord[]): number {
  return outputs.reduce((sum, { size }) => sum + size, 0);
}

/** The `summary` of a report. */
export type BatchTotals = Readonly<ReturnType<BatchSummary['totals']>>;

/** The warning of an output that was kept although its input changed after it was made. */
export const OUTPUT_OUTDATED = 'output_outdated';

/** Counts records one by one, so that a batch need not keep all of them. */
export class BatchSummary {
  total = 0;
  succeeded = 0;
  failed = 0;
  skipped = 0;
  planned = 0;
  /** Skipped files by the code of the reason. */
  readonly reasons = new Map<string, number>();
  /** Skipped files whose input is newer than the output. */
  outdated = 0;
  /** Results of succeeded files: several where the operation gives several images. */
  outputs = 0;
  /** Files whose result comes from a cache. */
  cached = 0;
  /** Bytes of all inputs, those of failed files included. */
  originalBytes = 0;
  /** Bytes of the inputs from which images were made. */
  convertedBytes = 0;
  /** Bytes of the images that were made. */
  outputBytes = 0;

  add({ status, originalSize, reason, warnings = [], cached, ...record }: FileRecord): void {
    const size = record.outputs ? bytesOf(record.outputs) : record.size;
    this.total += 1;
    if (cached) this.cached += 1;
    this[status] += 1;
    if (status === 'succeeded') this.outputs += record.outputs?.length ?? 1;
    if (reason) this.reasons.set(reason.code, (this.reasons.get(reason.code) ?? 0) + 1);
    if (warnings.some(({ code }) => code === OUTPUT_OUTDATED)) this.outdated += 1;
    this.originalBytes += originalSize;
    if (status === 'succeeded' && size !== undefined) {
      this.convertedBytes += originalSize;
      this.outputBytes += size;
    }
  }

  totals(gives: Operation['gives']) {
    const { total, succeeded, failed, skipped, planned, originalBytes, outputBytes } = this;
    return {
      total,
      succeeded,
      failed,
      originalBytes,
      /** Only where files were skipped. */
      ...(skipped > 0 && { skipped }),
      /** Only in a dry run. */
      ...(planned > 0 && { planned }),
      /** Only for operations that give images. */
      ...(gives === 'image' && { outputBytes }),
    };
  }
}

/** The report of a batch; a ZIP's manifest adds `parameters`. */
export interface BatchResult {
  readonly requestId: string;
  readonly operation: string;
  /**
   * Only the command line has others than `completed`: `stopped` by --fail-fast, `interrupted` by a
   * signal, `failed` where an output could not be written.
   */
  readonly status: 'completed' | 'stopped' | 'interrupted' | 'failed';
  readonly summary: BatchTotals;
  readonly results: readonly FileRecord[];
}
