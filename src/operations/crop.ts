import { fileFailure } from '../images/file-error.ts';
import { field, integer } from '../schema/fields.ts';
import { PLACE } from './step.ts';
import { stepOperation } from './step-operation.ts';

export const crop = stepOperation({
  name: 'crop',
  summary: 'Cut the same rectangle out of every image',
  endpoint: 'batch-crop-images',
  cost: 18,
  keeps: ['webp', 'png', 'jpeg'],
  fields: {
    left: field(integer(0), 'pixels from the left edge of the image as seen'),
    top: field(integer(0), 'pixels from the top edge of the image as seen'),
    width: field(integer(1), 'pixels'),
    height: field(integer(1), 'pixels'),
  },
  examples: ['crop --left 10 --top 10 --width 300 --height 200 --out cut *.jpg'],
  sample: { left: 0, top: 0, width: 100, height: 100 },
  plan(facts, { left, top, width, height }) {
    if (left + width > facts.width || top + height > facts.height) {
      throw fileFailure(
        'crop_out_of_bounds',
        `the rectangle ${width}x${height} at ${left},${top} reaches beyond the image of ${facts.width}x${facts.height}`,
      );
    }
    return {
      after: { ...facts, width, height },
      from: PLACE.EXTRACT,
      to: PLACE.EXTRACT,
      whole: true,
      apply: (frame) => frame.extract({ left, top, width, height }),
    };
  },
});
