import { Failure } from '../../failure.ts';
import { fileFailure } from '../file-error.ts';
import type { ImageInput } from '../input.ts';
import { HEIC_UNSUPPORTED, type InputFormat, sniff } from '../sniff.ts';

/** Prefixes of the error messages of each loader of libvips. */
const LOADER_PREFIXES: Readonly<Record<InputFormat, RegExp>> = {
  jpeg: /^VipsJpeg: /,
  png: /^vipspng: /,
  webp: /^(webp2vips|webp): /,
  gif: /^(gifload|gifload_base|nsgif): /,
  tiff: /^(tiff2vips|TIFF\w+): /,
  avif: /^(heif|heifload): /,
  heic: /^(heif|heifload): /,
  svg: /^(svgload|svgload_base): /,
  bmp: /^(tiff2vips|TIFF\w+): /,
  ico: /^(vipspng|tiff2vips|TIFF\w+): /,
};

/**
 * Finds out why an operation failed on some bytes. The message of libvips is not reliable: all threads
 * share its message buffer, so that it may belong to another file. Therefore the bytes are decoded again,
 * and only messages of this format's own loader are used.
 */
export async function diagnose(error: unknown, input: ImageInput): Promise<Failure> {
  if (error instanceof Failure) return error;
  const text = error instanceof Error ? error.message : String(error);
  const sniffed = sniff(input.file);
  if (!sniffed || 'unsupported' in sniffed)
    return fileFailure('processing_failed', firstLine(text), error);
  const { format } = sniffed;
  const name = format.toUpperCase();
  if (format === 'heic') {
    return fileFailure('unsupported_format', HEIC_UNSUPPORTED, error);
  }
  // sharp itself throws this before it decodes anything.
  if (/not supported for multi-page/i.test(text)) {
    return fileFailure(
      'animation_unsupported',
      `${firstLine(text)}; animated "first" takes one frame`,
      error,
    );
  }
  // A worker process of the daemon is limited to little more memory than its job's estimate.
  if (/out of memory/i.test(text)) {
    return fileFailure(
      'work_exceeds_memory',
      'this image needs more memory than it may use',
      error,
    );
  }
  if (await decodes(input, format)) {
    return fileFailure('processing_failed', firstLine(text), error);
  }
  const message = text.split('\n').find((line) => LOADER_PREFIXES[format].test(line));
  const detail = message ? `: ${message.replace(LOADER_PREFIXES[format], '').trim()}` : '';
  return fileFailure('corrupt_image', `this ${name} image is damaged${detail}`, error);
}

async function decodes(input: ImageInput, format: InputFormat): Promise<boolean> {
  const animated = format === 'gif' || format === 'webp';
  const { limits, sharp } = input;
  try {
    // Decodes every pixel and keeps few. Not stats(), which misses half of the damaged files while
    // other threads decode (sharp 0.35.5).
    await sharp(input.bytes, { limitInputPixels: limits.pixels, animated })
      .resize({ width: 8, height: 8, fit: 'fill', fastShrinkOnLoad: false })
      .raw()
      .toBuffer();
    return true;
  } catch {
    return false;
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!.trim();
}
