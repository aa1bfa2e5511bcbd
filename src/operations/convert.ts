import * as z from 'zod';
import { checkOutputSize, encode, encodingFields, format } from './encoding.ts';
import { FORMATS } from './formats.ts';
import { readHeader } from './header.ts';
import { defineOperation } from './operation.ts';
import { openPicture } from './picture.ts';

export const convert = defineOperation({
  name: 'convert',
  summary: 'Convert images to another format',
  gives: 'image',
  options: z
    .strictObject({ format: format.describe('output format'), ...encodingFields })
    .superRefine((options, context) => {
      if (options.lossless && FORMATS[options.format].lossless === 'never') {
        context.addIssue({
          code: 'custom',
          path: ['lossless'],
          message: `${options.format.toUpperCase()} cannot be lossless; png, webp, avif and tiff can`,
        });
      }
    }),
  examples: [
    'convert --format webp *.jpg',
    'convert --format avif --quality 60 --recursive . --out smaller',
    'convert --format jpeg --background "#ff8800" --overwrite *.png',
  ],
  async run(input, options) {
    const header = await readHeader(input);
    checkOutputSize(input, header);
    const picture = await openPicture(input, header, options.format, options);
    return encode(input, picture, picture.image, options.format, options);
  },
});
