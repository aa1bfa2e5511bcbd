import type { WarningCode } from '../warning-codes.ts';
import type { FileFormat } from './formats.ts';

/** What an output keeps of the metadata of its input. */
export const METADATA_POLICIES = ['none', 'copyright', 'icc', 'all'] as const;

export type MetadataPolicy = (typeof METADATA_POLICIES)[number];

/** A requested property that the output does not have although the file succeeded. */
export interface Warning {
  readonly code: WarningCode;
  readonly message: string;
}

/** The warnings without those that equal an earlier one. */
export function distinctWarnings(warnings: readonly Warning[]): Warning[] {
  return [...new Map(warnings.map((warning) => [JSON.stringify(warning), warning])).values()];
}

/** An encoded image; width and height are those of one frame. */
export interface OutputImage {
  readonly bytes: Uint8Array;
  readonly format: FileFormat;
  readonly width: number;
  readonly height: number;
  /** Number of frames or pages if there are several. */
  readonly pages?: number;
  /** Whether these are the bytes of the input, than which nothing smaller was found. */
  readonly kept?: true;
  /** Set where the operation gives several images for one input. */
  readonly output?: {
    readonly index: number;
    /** Template of its file name. */
    readonly nameTemplate: string;
  };
}

/** One encoding that was tried, with the option that made it. */
export interface Attempt {
  readonly format: FileFormat;
  readonly quality?: number;
  readonly colors?: number;
  readonly lossless?: true;
  /** Whether these are the bytes of the input. */
  readonly original?: true;
  /** Bytes. */
  readonly size: number;
  /** SSIM against the source, where it was measured. */
  readonly ssim?: number;
}

/** The encodings that were tried for an output. */
export interface Search {
  readonly chosen: Attempt;
  readonly tried: readonly Attempt[];
  /** Whether the chosen one reaches the target, where there is one. */
  readonly reached?: boolean;
}

/** The result of an encoding. */
export interface EncodingResult {
  readonly image: OutputImage;
  readonly search?: Search;
  readonly warnings: readonly Warning[];
}
