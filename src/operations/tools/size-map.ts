import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { readHeader } from '../../images/decoding/header.ts';
import { outputSize, parseTarget, RESOLUTIONS, type Size } from '../../images/sizes.ts';
import { optional } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';

const text = ({ width, height }: Size) => `${width}x${height}`;

function answer(target: Size | 'auto'): object {
  if (target === 'auto') return { target: 'auto', size: 'auto' };
  const output = outputSize(target);
  return { target: text(target), size: text(output), width: output.width, height: output.height };
}

export const sizeMap = defineOperation({
  name: 'size-map',
  summary: 'Map sizes, ratios and images to sizes of image generation',
  gives: 'data',
  endpoint: 'batch-size-map',
  cost: 0.1,
  options: v.strictObject({
    resolution: optional(v.picklist(RESOLUTIONS), 'long edge for a ratio'),
  }),
  columns: () => ['target', 'size'],
  examples: [
    'size-map 1280x720 1920x1080',
    'size-map 16:9 --resolution 2K',
    'size-map --json *.jpg',
  ],
  answer(argument, { resolution }) {
    try {
      return answer(parseTarget(argument, resolution));
    } catch (error) {
      // `0x0` and `16:` are invalid sizes; any other text may be the name of a file.
      if (error instanceof Failure && !/^[\d.]+[x:][\d.]*$/i.test(argument)) return undefined;
      throw error;
    }
  },
  async run(input) {
    const { width, height } = await readHeader(input);
    return { data: answer({ width, height }) };
  },
});
