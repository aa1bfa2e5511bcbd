import * as v from 'valibot';
import { encodingFields, formatField } from '../images/encoding.ts';
import { FORMATS } from '../images/formats.ts';
import { rule } from '../schema/fields.ts';
import { defineOperation } from './operation.ts';
import { runSteps } from './run-steps.ts';

export const convert = defineOperation({
  name: 'convert',
  summary: 'Convert images to another format',
  gives: 'image',
  endpoint: 'batch-convert-images',
  cost: 400,
  options: v.pipe(
    v.strictObject({ format: formatField('output format'), ...encodingFields }),
    rule(({ format, lossless }) =>
      lossless && FORMATS[format].lossless === 'never'
        ? ['lossless', `${format} cannot be lossless; png, webp, avif and tiff can`]
        : null,
    ),
  ),
  examples: [
    'convert --format webp *.jpg',
    'convert --format avif --quality 60 --recursive . --out smaller',
    'convert --format jpeg --background "#ff8800" --overwrite *.png',
  ],
  sample: { format: 'webp', quality: 80 },
  run: (input, options) =>
    runSteps(input, { steps: [], format: () => options.format, encoding: options }),
});
