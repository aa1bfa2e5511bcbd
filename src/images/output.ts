import type { OutputFormat } from './formats.ts';

/** A requested property that the output does not have although the file succeeded. */
export interface Warning {
  readonly code:
    | 'quality_ignored'
    | 'lossless_ignored'
    | 'effort_ignored'
    | 'effort_adjusted'
    | 'progressive_ignored'
    | 'chroma_subsampling_ignored'
    | 'metadata_ignored'
    | 'exif_lost'
    | 'colours_not_converted'
    | 'delay_adjusted'
    | 'animation_lost'
    | 'pages_lost';
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
}

/** The result of an encoding. */
export interface Encoded {
  readonly image: OutputImage;
  readonly warnings: readonly Warning[];
}
