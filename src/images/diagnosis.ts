import { Failure } from '../failure.ts';
import { fileFailure } from './file-error.ts';
import type { ImageInput } from './input.ts';
import { type InputFormat, sniff } from './sniff.ts';

/** How each loader of libvips begins its complaints. */
const LOADERS: Readonly<Record<InputFormat, RegExp>> = {
  jpeg: /^VipsJpeg: /,
  png: /^vipspng: /,
  webp: /^(webp2vips|webp): /,
  gif: /^(gifload|gifload_base|nsgif): /,
  tiff: /^(tiff2vips|TIFF\w+): /,
  avif: /^(heif|heifload): /,
  heic: /^(heif|heifload): /,
  svg: /^(svgload|svgload_base): /,
};

/**
 * Finds out why an operation failed over some bytes. What libvips says cannot tell it alone: its
 * message buffer is shared by all threads, so that a file may get another one's words. Whether the
 * bytes decode is therefore tried again, and only words of this format's own loader are passed on.
 */
export async function diagnose(error: unknown, input: ImageInput): Promise<Failure> {
  if (error instanceof Failure) return error;
  const text = error instanceof Error ? error.message : String(error);
  const sniffed = sniff(input.bytes);
  if (!sniffed || 'unsupported' in sniffed)
    return fileFailure('processing_failed', firstLine(text), error);
  const { format } = sniffed;
  const name = format.toUpperCase();
  if (format === 'heic') {
    return fileFailure('unsupported_format', 'HEIC images (HEVC) cannot be decoded', error);
  }
  // Thrown by sharp itself before anything is decoded.
  if (/not supported for multi-page/i.test(text)) {
    return fileFailure(
      'animation_unsupported',
      `${firstLine(text)}; animated "first" takes one frame`,
      error,
    );
  }
  // A process of the daemon may take little more than what its job was estimated to need.
  if (/out of memory/i.test(text)) {
    return fileFailure(
      'work_exceeds_memory',
      'this image takes more memory than it may have',
      error,
    );
  }
  if (await decodes(input, format)) {
    return fileFailure('processing_failed', firstLine(text), error);
  }
  const words = text.split('\n').find((line) => LOADERS[format].test(line));
  const detail = words ? `: ${words.replace(LOADERS[format], '').trim()}` : '';
  return fileFailure('corrupt_image', `this ${name} image is damaged${detail}`, error);
}

async function decodes(
  { bytes, limits, sharp }: ImageInput,
  format: InputFormat,
): Promise<boolean> {
  const animated = format === 'gif' || format === 'webp';
  try {
    // Every pixel is decoded and next to none kept. Not by stats(), which passes over half of the
    // damage while other threads decode (sharp 0.35.5).
    await sharp(bytes, { limitInputPixels: limits.pixels, animated })
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
