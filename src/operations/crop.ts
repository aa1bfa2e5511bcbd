import * as v from 'valibot';
import { checkOutputSize, encode, encodingFields, sameFormat } from '../images/encoding.ts';
import { fileFailure } from '../images/file-error.ts';
import { readHeader } from '../images/header.ts';
import { openPicture } from '../images/picture.ts';
import { field, integer } from '../schema/fields.ts';
import { defineOperation } from './operation.ts';

const CROP_FORMATS = ['webp', 'png', 'jpeg'] as const;

export const crop = defineOperation({
  name: 'crop',
  summary: 'Cut the same rectangle out of every image',
  gives: 'image',
  endpoint: 'batch-crop-images',
  cost: 18,
  options: v.strictObject({
    left: field(integer(0), 'pixels from the left edge of the image as seen'),
    top: field(integer(0), 'pixels from the top edge of the image as seen'),
    width: field(integer(1), 'pixels'),
    height: field(integer(1), 'pixels'),
    format: v.optional(
      v.pipe(
        field(
          v.picklist([...CROP_FORMATS, 'jpg']),
          "output format; the input's where it is one of these, else png",
        ),
        v.transform((name) => (name === 'jpg' ? 'jpeg' : name)),
      ),
    ),
    ...encodingFields,
  }),
  examples: ['crop --left 10 --top 10 --width 300 --height 200 --out cut *.jpg'],
  sample: { left: 0, top: 0, width: 100, height: 100 },
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
    const cut = picture.image.extract({ left, top, width, height });
    return encode(input, picture, cut, { to, size: { width, height } }, options);
  },
});
