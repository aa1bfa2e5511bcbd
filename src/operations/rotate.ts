import * as v from 'valibot';
import { colourField, parseColour } from '../images/colour.ts';
import {
  checkOutputSize,
  encode,
  encodingFields,
  formatField,
  sameFormat,
} from '../images/encoding.ts';
import { FORMATS } from '../images/formats.ts';
import { readHeader } from '../images/header.ts';
import type { ImageInput, Sharp } from '../images/input.ts';
import { mapFrames, openPicture, type Picture, pixelsOf } from '../images/picture.ts';
import { field, number, rule } from '../schema.ts';
import { defineOperation } from './operation.ts';

const options = v.pipe(
  v.strictObject({
    angle: v.optional(field(number(-360, 360), 'degrees clockwise')),
    flip: v.optional(field(v.boolean(), 'mirror top to bottom, after the rotation'), false),
    flop: v.optional(field(v.boolean(), 'mirror left to right, after the rotation'), false),
    format: v.optional(formatField("output format; the input's where not given")),
    ...encodingFields,
    background: v.optional(
      colourField('what fills the corners; transparent, or white where the format has no alpha'),
    ),
  }),
  rule(({ angle, flip, flop }) =>
    angle === undefined && !flip && !flop
      ? ['angle', 'one of angle, flip and flop is required']
      : null,
  ),
);

/** The sides of the upright box around a rectangle turned by `angle` degrees, as libvips rounds them. */
function turnedSize({ width, height }: { width: number; height: number }, angle: number) {
  const radians = (angle * Math.PI) / 180;
  const [sine, cosine] = [Math.abs(Math.sin(radians)), Math.abs(Math.cos(radians))];
  return {
    width: Math.round(width * cosine + height * sine),
    height: Math.round(width * sine + height * cosine),
  };
}

export const rotate = defineOperation({
  name: 'rotate',
  summary: 'Rotate and mirror images',
  gives: 'image',
  options,
  examples: ['rotate --angle 90 --out turned *.jpg', 'rotate --flop --format png *.jpg'],
  async run(input, given) {
    const header = await readHeader(input);
    const to = given.format ?? sameFormat(header);
    const angle = (((given.angle ?? 0) % 360) + 360) % 360;
    checkOutputSize(input, turnedSize(header, angle), header.pages);
    const background = given.background ?? (FORMATS[to].alpha ? 'transparent' : 'white');
    const fill = parseColour(background);
    const picture = await openPicture(input, header, to, given.animated);

    const turn = (frame: Sharp) => {
      if (angle === 0) return frame;
      const opaque = angle % 90 === 0 || fill.alpha === 1;
      return (opaque ? frame : frame.ensureAlpha()).rotate(angle, { background: fill });
    };
    const mirror = (frame: Sharp) => frame.flip(given.flip).flop(given.flop);
    const mirrors = given.flip || given.flop;
    return encode(input, picture, await turned(input, picture), to, { ...given, background });

    async function turned(from: ImageInput, { image, frames }: Picture): Promise<Sharp> {
      if (frames > 1 && angle % 180 !== 0)
        return mirror(await mapFrames(from, image, header, turn));
      // In one pipeline sharp mirrors before it turns by an arbitrary angle.
      if (mirrors && angle % 90 !== 0)
        return mirror(await pixelsOf(from, turn(image), header.deep));
      return mirror(turn(image));
    }
  },
});
