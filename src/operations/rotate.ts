import * as v from 'valibot';
import { colourField, onWhite, parseColour, premultiplied } from '../images/colour.ts';
import {
  checkOutputSize,
  encode,
  encodingFields,
  formatField,
  sameFormat,
} from '../images/encoding.ts';
import { FORMATS } from '../images/formats.ts';
import { readHeader } from '../images/header.ts';
import type { Sharp } from '../images/input.ts';
import { openPicture } from '../images/picture.ts';
import { addAlpha, mapFrames } from '../images/pixels.ts';
import { field, number, rule } from '../schema/fields.ts';
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

/** The bounding box of a rectangle rotated by `angle` degrees, rounded as by libvips. */
function rotatedSize({ width, height }: { width: number; height: number }, angle: number) {
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
  endpoint: 'batch-rotate-images',
  cost: 70,
  options,
  examples: ['rotate --angle 90 --out turned *.jpg', 'rotate --flop --format png *.jpg'],
  sample: { angle: 90 },
  async run(input, given) {
    const header = await readHeader(input);
    const to = given.format ?? sameFormat(header);
    const angle = (((given.angle ?? 0) % 360) + 360) % 360;
    const { alpha } = FORMATS[to];
    const background = given.background ?? (alpha ? 'transparent' : 'white');
    const fill = alpha ? parseColour(background) : onWhite(parseColour(background));
    const picture = await openPicture(input, header, to, given);
    const size = rotatedSize(header, angle);
    checkOutputSize(input, size, picture.frames);

    // sharp mirrors before it rotates. Rotating and then mirroring along one axis is the same as
    // mirroring and then rotating in the other direction.
    const degrees = given.flip === given.flop ? angle : (360 - angle) % 360;
    const rotateFrame = (frame: Sharp) => {
      const mirrored = frame.flip(given.flip).flop(given.flop);
      if (degrees === 0) return mirrored;
      const showsCorners = degrees % 90 !== 0 && fill.alpha < 1;
      return (showsCorners ? addAlpha(mirrored, header, header) : mirrored).rotate(degrees, {
        // libvips premultiplies the image before it resamples, but not the background.
        background: premultiplied(fill),
      });
    };
    const rotated =
      picture.frames > 1
        ? await mapFrames(input, picture.image, header, rotateFrame)
        : rotateFrame(picture.image);
    // Bytes a pixel: libvips buffers the whole image to rotate it, and its transform uses floats.
    const held = degrees === 0 ? 0 : degrees % 90 === 0 ? 8 : 16;
    return encode(input, picture, rotated, { to, size, held }, { ...given, background });
  },
});
