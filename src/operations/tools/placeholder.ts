import * as v from 'valibot';
import { readHeader } from '../../images/decoding/header.ts';
import { readRaw, reducedRgba, type Samples, start } from '../../images/decoding/pixels.ts';
import { openInEightBits } from '../../images/decoding/true-colours.ts';
import type { ImageInput } from '../../images/input.ts';
import { blurHash } from '../../images/palette/blurhash.ts';
import { quantise } from '../../images/palette/quantise.ts';
import { integer, withDefault } from '../../schema/fields.ts';
import { defineOperation } from '../definition/operation.ts';

/** Longest side of the picture that is encoded, which ThumbHash limits. */
const SIDE = 100;

/** Quality of the data URL: at 16 pixels it is enlarged so much that higher ones do not show. */
const QUALITY = 40;

export const placeholder = defineOperation({
  name: 'placeholder',
  summary: 'Make placeholders: BlurHash, ThumbHash, data URL, colour',
  gives: 'data',
  endpoint: 'batch-image-placeholder',
  cost: 12,
  options: v.strictObject({
    components: withDefault(
      v.pipe(v.string(), v.regex(/^[1-9]x[1-9]$/)),
      '4x3',
      'detail of the BlurHash',
      {
        expects: 'horizontal and vertical components from 1x1 to 9x9',
      },
    ),
    dataUrl: withDefault(
      v.picklist(['webp', 'jpeg', 'none']),
      'webp',
      'format of the image in the data URL',
    ),
    side: withDefault(integer(4, 64), 16, 'pixels along the longer side of the data URL'),
  }),
  columns: () => ['color', 'blurhash', 'thumbhash'],
  row: (data) => {
    const { color } = data as { color?: string };
    return { color: color === undefined ? undefined : [{ hex: color }] };
  },
  examples: ['placeholder *.jpg', 'placeholder --components 6x4 --data-url jpeg --json *.jpg'],
  async run(input, { components, dataUrl, side }) {
    const header = await readHeader(input);
    const { width, height } = header;
    const image = await openInEightBits(input, header);
    const raster = await readRaw(reducedRgba(image.autoOrient(), SIDE));
    // Imported here, because the command line loads this file for every command.
    const { rgbaToThumbHash } = await import('thumbhash');
    const [across, down] = components.split('x').map(Number) as [number, number];
    const colour = quantise(raster.data, 1)[0]?.hex;
    const opaque = { ...raster, data: onWhite(raster) };
    const thumbhash = rgbaToThumbHash(raster.width, raster.height, raster.data);
    return {
      data: {
        width,
        height,
        ...(colour !== undefined && { color: colour }),
        blurhash: blurHash(opaque, across, down),
        thumbhash: Buffer.from(thumbhash).toString('base64'),
        ...(dataUrl !== 'none' && { dataUrl: await dataUrlOf(input, raster, dataUrl, side) }),
      },
      warnings: header.warnings,
    };
  },
});

/** The pixels on white: BlurHash has no transparency. */
function onWhite({ data }: Samples): Uint8ClampedArray {
  const opaque = new Uint8ClampedArray(data.length);
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3]! / 255;
    for (let sample = at; sample < at + 3; sample += 1) {
      opaque[sample] = data[sample]! * alpha + 255 * (1 - alpha);
    }
    opaque[at + 3] = 255;
  }
  return opaque;
}

async function dataUrlOf(
  input: ImageInput,
  raster: Samples,
  format: 'webp' | 'jpeg',
  side: number,
): Promise<string> {
  const image = start(input, raster)
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
    .flatten(format === 'jpeg' ? { background: 'white' } : false);
  const encoded =
    format === 'jpeg'
      ? image.jpeg({ quality: QUALITY, mozjpeg: true })
      : image.webp({ quality: QUALITY, alphaQuality: QUALITY, effort: 6 });
  return `data:image/${format};base64,${(await encoded.toBuffer()).toString('base64')}`;
}
