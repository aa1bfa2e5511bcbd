import type { FileErrorCode } from '../../error-codes.ts';
import type { TextVariables } from '../../images/input.ts';
import type { Limits } from '../../images/limits.ts';
import type { OutputImage, Warning } from '../../images/output.ts';
import type { OperationResult, SomeImages } from './operation.ts';

/** One input of a job: a file that the worker reads, or bytes that are moved to it. */
export type Source = { readonly path: string } | { readonly bytes: Uint8Array };

/** A further image of a job. */
export interface NamedImage {
  readonly path: string;
  /** Hash of the bytes that are expected; not given for files that cannot change, those of a form. */
  readonly sha256?: string;
}

export type NamedImages = Readonly<Record<string, NamedImage>>;

/** The message that runs an operation over one file. Structured-cloneable. */
export interface Job {
  readonly operation: string;
  /** Output of the operation's schema. */
  readonly options: unknown;
  readonly source: Source;
  readonly limits: Limits;
  /** Files of the images that options refer to, by the names in the options. */
  readonly images?: NamedImages;
  /** Values of placeholders in texts of options. */
  readonly variables?: Partial<TextVariables>;
  /** Returns the SHA-256 of the input's bytes, unless the result depends on further files. */
  readonly digest?: boolean;
  /** Returns with the image the date on which the picture was taken. */
  readonly taken?: boolean;
}

export interface FileError {
  readonly code: FileErrorCode;
  readonly message: string;
}

interface Outcome {
  /** Bytes of the input; 0 where it could not be read. */
  readonly originalSize: number;
}

/** An output with the hash of its bytes. */
export interface JobImage extends OutputImage {
  readonly sha256: string;
  /** `YYYY-MM-DDTHH:MM:SS` of the input's EXIF; null where there is none. */
  readonly taken?: string | null;
}

export interface JobSuccess
  extends Outcome,
    SomeImages<JobImage>,
    Pick<OperationResult, 'data' | 'planned'> {
  readonly ok: true;
  readonly warnings: readonly Warning[];
  readonly inputSha256?: string;
  /** Whether it comes from a cache. */
  readonly cached?: true;
}

export interface JobFailure extends Outcome {
  readonly ok: false;
  readonly error: FileError;
}

export type JobResult = JobSuccess | JobFailure;
