import { Failure } from '../failure.ts';
import { sizeText } from './byte-size.ts';
import { fileFailure } from './file-error.ts';

/** Limits of the work on one file. The command line and the daemon share the defaults. */
export interface Limits {
  /** Bytes of one input file. */
  readonly fileBytes: number;
  /** Decoded pixels of one input, of all frames that are decoded together. */
  readonly pixels: number;
  /** Frames or pages of one input, if all of them are decoded. */
  readonly frames: number;
  /** Longest side of an output in pixels. */
  readonly side: number;
  /** Time for one file after a worker thread has begun with it, in milliseconds. */
  readonly deadline: number;
  /** Whether SVG is read. It is markup, of which a small file can take much work. */
  readonly svg: boolean;
  /** Flag or setting that allows SVG, for the error message. */
  readonly svgSwitch?: string;
  /** Whether installed programs decode and encode formats that Oriel itself does not. */
  readonly programs: boolean;
}

export const DEFAULT_LIMITS: Limits = {
  fileBytes: 30 * 1024 * 1024,
  pixels: 50_000_000,
  frames: 256,
  side: 8192,
  deadline: 120_000,
  svg: false,
  programs: false,
};

/** Checks the size of an input. @throws Failure file_too_large */
export function checkFileSize(size: number, { fileBytes }: Pick<Limits, 'fileBytes'>): void {
  if (size <= fileBytes) return;
  const message = `${size} bytes, more than the limit of ${sizeText(fileBytes)}`;
  throw fileFailure('file_too_large', message);
}

/** Checks the pixels of an input. @throws Failure image_too_large */
export function checkPixels(
  { width, height, pages }: Readonly<Record<'width' | 'height' | 'pages', number>>,
  limits: Pick<Limits, 'pixels'>,
): void {
  if (width * height * pages <= limits.pixels) return;
  const image = `${width}x${height}${pages > 1 ? ` in ${pages} frames` : ''}`;
  const limit = `the limit of ${limits.pixels / 1e6} megapixels`;
  throw fileFailure('image_too_large', `${image} is more than ${limit}`);
}

/**
 * Checks the options that are sides of an output, which the schema does not bound.
 *
 * @param options validated options of an operation
 * @param label an option's name in messages
 * @param advice a sentence on how to change the limit
 * @throws Failure invalid_request with the option as `param`
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
