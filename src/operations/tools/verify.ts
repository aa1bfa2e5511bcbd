import { estimateDecoding } from '../../images/decoding/estimate.ts';
import { checkFrames, type Header, readHeader } from '../../images/decoding/header.ts';
import { fileFailure } from '../../images/file-error.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from '../../images/formats.ts';
import { isTruncatedGif } from '../../images/gif.ts';
import type { ImageInput, SharpOptions } from '../../images/input.ts';
import type { ThreadOperation } from '../definition/operation.ts';

/** Properties of an image whose pixels were all decoded. */
export interface VerifiedProperties {
  readonly format: OutputFormat;
  readonly mediaType: string;
  /** Of one frame, oriented by EXIF. */
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** Frames or pages. */
  readonly frames: number;
}

/** Verifies that bytes are an undamaged image. */
export const verify: ThreadOperation<unknown> = {
  name: 'verify',
  async run(input) {
    const header = await readHeader(input);
    checkFrames(header, input.limits);
    const format = OUTPUT_FORMATS.find((known) => known === header.format);
    if (format === undefined) {
      const name = header.format.toUpperCase();
      throw fileFailure('unsupported_format', `${name} images are not supported`);
    }
    if (format === 'gif' && isTruncatedGif(input.bytes)) {
      throw fileFailure('corrupt_image', 'this GIF image is damaged: it breaks off');
    }
    // Pages of a document are decoded one after the other.
    input.admit(estimateDecoding(header, header.animated ? header.pages : 1));
    // `readHeader` has checked the limits, except for pages after the first.
    if (header.pages === 1) await decode(input, {});
    else if (header.animated) await decode(input, { animated: true });
    else await decodePages(input, header);
    const { width, height, hasAlpha, pages } = header;
    const { mediaType } = FORMATS[format];
    return {
      data: {
        format,
        mediaType,
        width,
        height,
        hasAlpha,
        frames: pages,
      } satisfies VerifiedProperties,
    };
  },
};

/** Pages of a document may differ in size; the header has that of the first. */
async function decodePages(input: ImageInput, { pages }: Header): Promise<void> {
  const { bytes, limits, sharp } = input;
  let pixels = 0;
  for (let page = 0; page < pages; page += 1) {
    const { width, height } = await sharp(bytes, { page, limitInputPixels: false }).metadata();
    pixels += width * height;
    if (pixels > limits.pixels) {
      const most = limits.pixels / 1e6;
      throw fileFailure(
        'image_too_large',
        `${pages} pages are more than the limit of ${most} megapixels`,
      );
    }
    await decode(input, { page });
  }
}

/**
 * Decodes every pixel and keeps 8x8. Not by stats(), which misses half of the damage
 * while other threads decode (sharp 0.35.5).
 */
async function decode({ bytes, limits, sharp }: ImageInput, which: SharpOptions): Promise<void> {
  await sharp(bytes, { limitInputPixels: limits.pixels, ...which })
    .resize({ width: 8, height: 8, fit: 'fill', fastShrinkOnLoad: false })
    .raw()
    .toBuffer();
}
