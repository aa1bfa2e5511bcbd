import type sharp from 'sharp';
import type * as z from 'zod';
import { Failure } from '../failure.ts';
import type { OutputFormat } from './formats.ts';
import type { Limits } from './limits.ts';

/** Why one file of a batch could not be done. The batch goes on. */
export type FileErrorCode =
  | 'unsupported_format'
  | 'corrupt_image'
  | 'empty_file'
  | 'file_too_large'
  | 'image_too_large'
  | 'too_many_frames'
  | 'crop_out_of_bounds'
  | 'output_too_large'
  | 'animation_unsupported'
  | 'timeout'
  | 'worker_crashed'
  | 'processing_failed';

export function fileFailure(code: FileErrorCode, message: string, cause?: unknown): Failure {
  return new Failure(code === 'timeout' ? 'timeout' : 'invalid_request', message, { code, cause });
}

/** Something that the caller asked for and did not get although the file succeeded. */
export interface Warning {
  readonly code:
    | 'quality_ignored'
    | 'lossless_ignored'
    | 'effort_ignored'
    | 'effort_adjusted'
    | 'progressive_ignored'
    | 'chroma_subsampling_ignored'
    | 'animation_lost'
    | 'pages_lost'
    | 'alpha_flattened'
    | 'depth_reduced';
  readonly message: string;
}

/** sharp's own function, handed in by the thread that owns it. */
export type SharpFactory = typeof sharp;
export type { Sharp, SharpOptions } from 'sharp';

/** One input, in memory, with what the thread lends to work on it. */
export interface OperationInput {
  readonly bytes: Uint8Array;
  readonly limits: Limits;
  /** Loads sharp at its first call: hashing bytes must not pay for a decoder. */
  readonly sharp: SharpFactory;
}

/** An encoded image; its sides are those of one frame. */
export interface OutputImage {
  readonly bytes: Uint8Array;
  readonly format: OutputFormat;
  readonly width: number;
  readonly height: number;
  /** Frames or pages, where there are several. */
  readonly pages?: number;
}

export interface OperationResult {
  readonly image?: OutputImage;
  readonly data?: object;
  readonly warnings?: readonly Warning[];
}

/** One image tool. Its flags, form fields, help and documentation all derive from this record. */
export interface Operation<Schema extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly summary: string;
  /** `image`: each file gives a file. `data`: each file gives the `data` of the interface's part 2.8. */
  readonly gives: 'image' | 'data';
  readonly options: Schema;
  /** Keys of `data` that are worth a column in a table for people. */
  readonly columns?: readonly string[];
  /**
   * Answers an argument that is no file, such as a size to be mapped; undefined where it is a file
   * after all. Only the command line takes such arguments.
   */
  answer?(argument: string, options: z.output<Schema>): object | undefined;
  /** Command lines that a test runs in a folder of photographs, without the leading `oriel`. */
  readonly examples: readonly string[];
  run(input: OperationInput, options: z.output<Schema>): Promise<OperationResult>;
}

/** Keeps the options' type between the schema and `run`; the registry holds what comes out. */
export function defineOperation<Schema extends z.ZodObject>(
  operation: Operation<Schema>,
): Operation<Schema> {
  return operation;
}
