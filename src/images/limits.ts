import { Failure } from '../failure.ts';
import { fileFailure } from './file-error.ts';

/** Bounds on what one file may ask of us. The command line and the daemon share these defaults. */
export interface Limits {
  /** Bytes of one input file (interface part 8: 30 MB). */
  readonly fileBytes: number;
  /** Decoded pixels of one input, all the frames that are decoded together. */
  readonly pixels: number;
  /** Frames or pages of one input, where all of them are decoded. */
  readonly frames: number;
  /** Pixels along one side of an output. */
  readonly side: number;
  /** Milliseconds that one file may take from the moment a thread takes it up. */
  readonly deadline: number;
  /** SVG is markup that draws, not pixels: it is read only where the operator says so. */
  readonly svg: boolean;
  /** The flag or setting that allows SVG, for the message of its refusal. */
  readonly svgSwitch?: string;
}

export const DEFAULT_LIMITS: Limits = {
  fileBytes: 30 * 1024 * 1024,
  pixels: 50_000_000,
  frames: 256,
  side: 8192,
  deadline: 120_000,
  svg: false,
};

/** @throws Failure file_too_large for an input of more bytes than the limit */
export function checkFileSize(size: number, { fileBytes }: Pick<Limits, 'fileBytes'>): void {
  if (size <= fileBytes) return;
  const megabytes = (bytes: number) => Number((bytes / 1024 / 1024).toFixed(1));
  throw fileFailure(
    'file_too_large',
    `${megabytes(size)} MB (${size} bytes), more than the limit of ${megabytes(fileBytes)} MB`,
  );
}

/**
 * Checks the options that are sides of an output, which only the limit bounds.
 *
 * @param options what an operation's schema gave
 * @param label how the caller's user writes an option
 * @param advice how the limit can be moved
 * @throws Failure invalid_request that names the option
 */
export function checkSides(
  options: Readonly<Record<string, unknown>>,
  { side }: Pick<Limits, 'side'>,
  label = (name: string) => name,
  advice = '',
): void {
  for (const name of ['width', 'height']) {
    const value = options[name];
    if (typeof value !== 'number' || value <= side) continue;
    const message = `${label(name)}: expected an integer from 1 to ${side}, received ${value}${advice}`;
    throw new Failure('invalid_request', message, { param: name });
  }
}
