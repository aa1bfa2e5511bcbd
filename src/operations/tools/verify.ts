import { decodeAll } from '../../images/decoding/diagnose.ts';
import { estimateDecoding } from '../../images/decoding/estimate.ts';
import { checkFrames, type Header, readHeader } from '../../images/decoding/header.ts';
import { damagedImage, fileFailure } from '../../images/file-error.ts';
import { FORMATS, OUTPUT_FORMATS } from '../../images/formats.ts';
import { isTruncatedGif } from '../../images/gif.ts';
import type { ImageInput } from '../../images/input.ts';
import type { ThreadOperation } from '../definition/operation.ts';

/** Properties of an image whose pixels were all decoded: sides of one frame, oriented by EXIF, and frames or pages. */
export type VerifiedProperties = Awaited<ReturnType<typeof verifyImage>>;

/** Verifies that bytes are an undamaged image. */
export const verify: ThreadOperation<unknown> = {
  name: 'verify',
  run: async (input) => ({ data: await verifyImage(input) }),
};

async function verifyImage(input: ImageInput) {
  const header = await readHeader(input);
  checkFrames(header, input.limits);
  const format = OUTPUT_FORMATS.find((known) => known === header.format);
  if (format === undefined) {
    const name = header.format.toUpperCase();
    throw fileFailure('unsupported_format', `${name} images are not supported`);
  }
  if (format === 'gif' && isTruncatedGif(input.bytes)) {
    throw damagedImage('GIF', 'it breaks off');
  }
  // Pages of a document are decoded one after the other.
  input.admit(estimateDecoding(header, header.animated ? header.pages : 1));
  // `readHeader` has checked the limits, except for pages after the first.
  if (header.pages === 1) await decodeAll(input, {});
  else if (header.animated) await decodeAll(input, { animated: true });
  else await decodePages(input, header);
  const { width, height, hasAlpha, pages } = header;
  const { mediaType } = FORMATS[format];
  return { format, mediaType, width, height, hasAlpha, frames: pages };
}

/** Pages of a document may differ in size; the header has that of the first. */
async function decodePages(input: ImageInput, { pages }: Header): Promise<void> {
  const { bytes, limits, sharp } = input;
  let pixels = 0;
  for (let page = 0; page < pages; page += 1) {
    const { width, height } = await sharp(bytes, { page, limitInputPixels: false }).metadata();
    pixels += width * height;
    if (pixels > limits.pixels) {
      const most = limits.pixels / 1e6;
      const message = `${pages} pages are more than the limit of ${most} megapixels`;
      throw fileFailure('image_too_large', message);
    }
    await decodeAll(input, { page });
  }
}
