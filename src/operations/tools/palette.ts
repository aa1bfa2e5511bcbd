import * as v from 'valibot';
import { readHeader } from '../../images/decoding/header.ts';
import { reducedRgba } from '../../images/decoding/pixels.ts';
import { openInEightBits } from '../../images/decoding/true-colours.ts';
import { quantise } from '../../images/palette/quantise.ts';
import { integer, withDefault } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';

/** Longest side of the image that is counted: more pixels change neither colours nor shares. */
const SIDE = 256;

export const palette = defineOperation({
  name: 'palette',
  summary: 'Find the dominant colours of images and their shares',
  gives: 'data',
  endpoint: 'batch-color-palette',
  cost: 12,
  options: v.strictObject({
    count: withDefault(integer(1, 20), 6, 'largest number of colours'),
  }),
  columns: () => ['colors'],
  examples: ['palette *.jpg', 'palette --count 3 --json *.jpg'],
  async run(input, { count }) {
    const header = await readHeader(input);
    const image = await openInEightBits(input, header);
    const pixels = await reducedRgba(image, SIDE).toBuffer();
    return { data: { colors: quantise(pixels, count) }, warnings: header.warnings };
  },
});
