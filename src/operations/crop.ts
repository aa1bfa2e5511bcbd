import * as z from 'zod';
import { checkOutputSize, encode, encodingFields, sameFormat } from './encoding.ts';
import { readHeader } from './header.ts';
import { defineOperation, fileFailure } from './operation.ts';
import { openPicture } from './picture.ts';

const CROP_FORMATS = ['webp', 'png', 'jpeg'] as const;

export const crop = defineOperation({
  name: 'crop',
  summary: 'Cut the same rectangle out of every image',
  gives: 'image',
  options: z.strictObject({
    left: z.int().min(0).describe('pixels from the left edge of the image as seen'),
    top: z.int().min(0).describe('pixels from the top edge of the image as seen'),
    width: z.int().min(1).max(8192).describe('pixels'),
    height: z.int().min(1).max(8192).describe('pixels'),
    format: z
      .enum([...CROP_FORMATS, 'jpg'])
      .transform((name) => (name === 'jpg' ? 'jpeg' : name))
      .optional()
      .describe("output format (default: the input's where it is one of these, else png)"),
    ...encodingFields,
  }),
  examples: ['crop --left 10 --top 10 --width 300 --height 200 --out cut *.jpg'],
  async run(input, options) {
    const header = await readHeader(input);
    const { left, top, width, height } = options;
    if (left + width > header.width || top + height > header.height) {
      throw fileFailure(
        'crop_out_of_bounds',
        `the rectangle ${width}x${height} at ${left},${top} reaches beyond the image of ${header.width}x${header.height}`,
      );
    }
    checkOutputSize(input, { width, height });
    const own = sameFormat(header);
    const to = options.format ?? CROP_FORMATS.find((candidate) => candidate === own) ?? 'png';
    const picture = await openPicture(input, header, to, options);
    return encode(input, picture, picture.image.extract({ left, top, width, height }), to, options);
  },
});
