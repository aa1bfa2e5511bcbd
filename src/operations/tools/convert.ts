import * as v from 'valibot';
import { readHeader } from '../../images/decoding/header.ts';
import { ignoredSettings } from '../../images/encoding/encoders.ts';
import { encodingFault, encodingFields, formatField } from '../../images/encoding/options.ts';
import { profileFiles } from '../../images/encoding/profile.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import { rule } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';
import { runSteps } from '../definition/run-steps.ts';
import { keepIfSmallerField, originalOf } from './keep-if-smaller.ts';

/** CPU milliseconds for a megabyte of photographs, at default settings. */
export const ENCODING_COST: Readonly<Record<OutputFormat, number>> = {
  jpeg: 80,
  png: 250,
  webp: 400,
  avif: 2500,
  gif: 1000,
  tiff: 350,
  jxl: 1000,
};

export const convert = defineOperation({
  name: 'convert',
  summary: 'Convert images to another format',
  gives: 'image',
  endpoint: 'batch-convert-images',
  cost: ({ format }: { readonly format: OutputFormat }) => ENCODING_COST[format],
  options: v.pipe(
    v.strictObject({
      format: formatField('output format'),
      ...encodingFields,
      keepIfSmaller: keepIfSmallerField(false),
    }),
    rule((options) => {
      const { format, lossless } = options;
      return lossless && FORMATS[format].lossless === 'never'
        ? ['lossless', `${format} cannot be lossless; png, webp, avif, tiff and jxl can`]
        : encodingFault(options);
    }),
  ),
  examples: [
    'convert --format webp *.jpg',
    'convert --format avif --quality 60 --recursive . --out smaller',
    'convert --format jpeg --background "#ff8800" --overwrite *.png',
  ],
  sample: { format: 'webp', quality: 80 },
  images: (options) => profileFiles(options as object),
  async run(input, options) {
    const made = await runSteps(input, {
      steps: [],
      format: () => options.format,
      encoding: options,
    });
    const size = made.image.bytes.byteLength;
    if (!options.keepIfSmaller || options.profile !== undefined || size < input.file.byteLength)
      return made;
    const header = await readHeader(input);
    const original = originalOf(input, header);
    if (!original) return made;
    const { chosen, tried } = made.data ?? { chosen: { format: options.format, size } };
    return {
      ...made,
      image: original.image,
      data: { chosen: original.attempt, tried: tried ?? [chosen] },
      // The input's bytes have lost nothing.
      warnings: [
        ...header.warnings,
        ...made.warnings.filter(({ code }) => code === 'target_not_reached'),
        ...ignoredSettings(options.format, options),
      ],
    };
  },
});
