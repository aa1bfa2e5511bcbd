import type { WarningCode } from '../error-codes.ts';
import type { OutputFormat } from './formats.ts';

/** A requested property that the output does not have although the file succeeded. */
export interface Warning {
  readonly code: WarningCode;
  readonly message: string;
}

/** An encoded image; width and height are those of one frame. */
export interface OutputImage {
  readonly bytes: Uint8Array;
  readonly format: OutputFormat;
  readonly width: number;
  readonly height: number;
  /** Number of frames or pages if there are several. */
  readonly pages?: number;
  /** Set where the operation gives several images for one input. */
  readonly output?: {
    readonly index: number;
    /** Template of its file name. */
    readonly nameTemplate: string;
  };
}

/** The result of an encoding. */
export interface Encoded {
  readonly image: OutputImage;
  readonly warnings: readonly Warning[];
}
