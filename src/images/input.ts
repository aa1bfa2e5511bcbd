import type sharp from 'sharp';
import type { Limits } from './limits.ts';

/** sharp's function, which the worker thread passes in. */
export type SharpFactory = typeof sharp;
export type { Sharp, SharpOptions } from 'sharp';

/** Expected cost of a job. */
export interface Estimate {
  /** CPU time for a typical photograph, in milliseconds. */
  readonly milliseconds: number;
  /** Bytes of memory beyond those of an idle process. */
  readonly bytes: number;
}

/** Estimates work that takes a number of bytes and of CPU microseconds for each pixel. */
export function forPixels(pixels: number, bytes: number, microseconds: number): Estimate {
  return { milliseconds: (pixels * microseconds) / 1000, bytes: pixels * bytes };
}

/** The file that an image has come from, for placeholders in texts. */
export interface TextVariables {
  /** Base name without its extension. */
  readonly name: string;
  /** Place among the inputs, from 1. */
  readonly index: number;
  /** Content of the file beside it that has its focal point or regions. */
  readonly sidecar: string;
}

/** One input in memory, with the functions of the worker thread to process it. */
export interface ImageInput {
  /** Bytes of the file, read at the first access. */
  readonly file: Uint8Array;
  /** Length of the file in bytes. */
  readonly size: number;
  /** Bytes from a place on, without reading the others; fewer at the end of the file. */
  readonly part: (at: number, length: number) => Buffer;
  /**
   * Bytes for the decoder: the file, unless its decoder would miss parts of it or does not read the format. The
   * first access may decode. @throws Failure with a file error code
   */
  readonly bytes: Uint8Array;
  /** Decodes a file that needs an installed program, after which `bytes` are a PNG or JPEG. */
  load(): Promise<Uint8Array>;
  /** When the job misses its deadline, as performance.now(). */
  readonly until: number;
  readonly limits: Limits;
  /** Checks an estimate before pixels are decoded. Throws if it exceeds the limits of the job. */
  readonly admit: (estimate: Estimate) => void;
  /** Loads sharp at the first call, because hashing bytes needs no decoder. */
  readonly sharp: SharpFactory;
  /**
   * Opens a second file for some work, for operations of the command line that read two. Errors of the work name
   * the file.
   */
  readonly withFile: <Result>(
    path: string,
    work: (input: ImageInput) => Promise<Result>,
  ) => Promise<Result>;
  /**
   * Opens an image that the options refer to by name. Errors of the work name it.
   *
   * @throws Failure not_found for a name that no file was given for
   */
  readonly withNamed: <Result>(
    name: string,
    work: (other: ImageInput, key: string) => Promise<Result>,
  ) => Promise<Result>;
  /** Values of placeholders in texts; only those that the options have. */
  readonly variables: Partial<TextVariables>;
}
