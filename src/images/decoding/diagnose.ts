import { Failure } from '../../failure.ts';
import { fileFailure } from '../file-error.ts';
import type { ImageInput, SharpOptions } from '../input.ts';
import { isProgramFormat, READERS } from '../program-formats.ts';
import { type InputFormat, sniff } from './sniff.ts';

/** Prefixes of the error messages of each loader of libvips. */
const LOADER_PREFIXES: Readonly<Record<InputFormat, RegExp>> = {
  jpeg: /^VipsJpeg: /,
  png: /^vipspng: /,
  webp: /^(webp2vips|webp): /,
  gif: /^(gifload|gifload_base|nsgif): /,
  tiff: /^(tiff2vips|TIFF\w+): /,
  avif: /^(heif|heifload): /,
  heic: /^(heif|heifload|vipspng): /,
  jxl: /^vipspng: /,
  pdf: /^vipspng: /,
  raw: /^VipsJpeg: /,
  svg: /^(Input buffer has corrupt header: )?glib: /,
  bmp: /^(tiff2vips|TIFF\w+): /,
  ico: /^(vipspng|tiff2vips|TIFF\w+): /,
};

/**
 * Finds out why an operation failed on some bytes. The message of libvips is not reliable: all threads
 * share its message buffer, so that it may belong to another file. Therefore the bytes are decoded again,
 * and only messages of this format's own loader that both errors have are used.
 */
export async function diagnose(error: unknown, input: ImageInput): Promise<Failure> {
  if (error instanceof Failure) return error;
  const text = messageOf(error);
  const sniffed = sniff(input.file);
  if (!sniffed || 'unsupported' in sniffed)
    return fileFailure('processing_failed', firstLine(text), error);
  const { format } = sniffed;
  // sharp itself throws this before it decodes anything.
  if (/not supported for multi-page/i.test(text)) {
    const message = `${firstLine(text)}; animated "first" takes one frame`;
    return fileFailure('animation_unsupported', message, error);
  }
  // A worker process of the daemon is limited to little more memory than its job's estimate.
  if (/out of memory/i.test(text)) {
    const message = 'this image needs more memory than it may use';
    return fileFailure('work_exceeds_memory', message, error);
  }
  // Drawing an SVG image again could take as long as the deadline allows.
  const again = /^svgload_buffer: /m.test(text) ? error : await decodingError(input, format);
  if (again === null) {
    return fileFailure('processing_failed', firstLine(text), error);
  }
  const lines = messageOf(again).split('\n');
  const message = text
    .split('\n')
    .find((line) => LOADER_PREFIXES[format].test(line) && lines.includes(line));
  const detail = message ? `: ${message.replace(LOADER_PREFIXES[format], '').trim()}` : '';
  return fileFailure(
    'corrupt_image',
    `this ${isProgramFormat(format) ? READERS[format].label : format.toUpperCase()} image is damaged${detail}`,
    error,
  );
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The error of decoding a file; null if it can be decoded. */
async function decodingError(input: ImageInput, format: InputFormat): Promise<unknown> {
  // Loads the decoder: if that fails, the file is not to blame.
  const { sharp, limits } = input;
  const animated = format === 'gif' || format === 'webp';
  try {
    // The bytes may have to be decoded, which may fail again.
    await decodeAll({ sharp, bytes: input.bytes, limits }, { animated });
    return null;
  } catch (error) {
    return error;
  }
}

/**
 * Decodes every pixel and keeps 8x8. Not by stats(), which misses half of the damage while other threads decode
 * (sharp 0.35.5).
 */
export async function decodeAll(
  { sharp, bytes, limits }: Pick<ImageInput, 'sharp' | 'bytes' | 'limits'>,
  which: SharpOptions,
): Promise<void> {
  await sharp(bytes, { limitInputPixels: limits.pixels, ...which })
    .resize({ width: 8, height: 8, fit: 'fill', fastShrinkOnLoad: false })
    .raw()
    .toBuffer();
}

const firstLine = (text: string): string => text.split('\n', 1)[0]!.trim();
