import * as v from 'valibot';
import { colourField, isGrey, onWhite, parseColour } from '../../images/colour.ts';
import { boundedText, field, integer, number, optional, withDefault } from '../../schema/fields.ts';
import { adjustment } from '../definition/adjustment.ts';
import { PLACE } from '../definition/step.ts';
import { stretchCurves, tintCurves } from './curves.ts';
import { flattened, masked, openMask, rounded, sharpened } from './filters.ts';

/** Steps that are declared by what they do to pixels alone. */
export const ADJUSTMENTS = [
  adjustment('sharpen', 'Sharpen images', {
    fields: {
      sigma: withDefault(number(0.1, 10), 1, 'radius of the Gaussian mask in pixels'),
      flat: withDefault(number(0, 100), 1, 'strength in flat areas'),
      jagged: withDefault(number(0, 100), 2, 'strength at edges'),
    },
    examples: ['sharpen --sigma 0.8 --out sharp *.jpg'],
    microseconds: ({ sigma }) => 0.05 + sigma * 0.01,
    native: ({ sigma, flat, jagged }) => ({
      ...{ to: PLACE.SHARPEN, colours: true },
      apply: (frame) => frame.sharpen({ sigma, m1: flat, m2: jagged }),
    }),
  }),
  adjustment('unsharp', 'Sharpen images by an unsharp mask', {
    fields: {
      radius: withDefault(number(0.3, 100), 1, 'sigma of the Gaussian mask in pixels'),
      amount: withDefault(number(0, 10), 1, 'strength'),
      threshold: withDefault(number(0, 255), 0, 'smaller differences, of 255, stay'),
    },
    examples: ['unsharp --radius 1.5 --amount 0.8 --out sharp *.jpg'],
    microseconds: ({ radius }) => 0.1 + radius * 0.02,
    pixels: sharpened,
  }),
  adjustment('blur', 'Blur images', {
    fields: { sigma: field(number(0.3, 250), 'radius of the Gaussian mask in pixels') },
    examples: ['blur --sigma 4 --out blurred *.jpg'],
    sample: { sigma: 4 },
    microseconds: ({ sigma }) => 0.02 + sigma * 0.02,
    native: ({ sigma }) => ({ to: PLACE.BLUR, apply: (frame) => frame.blur(sigma) }),
  }),
  adjustment('median', 'Remove specks by a median filter', {
    fields: { size: withDefault(integer(2, 15), 3, 'side of the square mask in pixels') },
    microseconds: ({ size }) => size * size * 0.03,
    native({ size }, { width, height }) {
      const side = Math.min(size, width, height);
      return { to: PLACE.MEDIAN, apply: (frame) => frame.median(side) };
    },
  }),
  adjustment('greyscale', 'Convert images to greyscale', {
    after: () => ({ grey: true }),
    native(_, { deep, hasAlpha }) {
      // sharp's own turns sixteen bits into eight, and drops alpha from raw pixels (0.35.5, pipeline.cc).
      const own = !deep && !hasAlpha;
      return {
        ...{ to: own ? PLACE.GREYSCALE : PLACE.MODULATE, colours: true },
        // Without chroma a colour keeps its luminance, too.
        apply: (frame) => (own ? frame.greyscale() : frame.modulate({ saturation: 0 })),
      };
    },
  }),
  adjustment('modulate', 'Change brightness, saturation and hue of images', {
    fields: {
      brightness: optional(number(0, 100), 'brightness factor'),
      saturation: optional(number(0, 100), 'saturation factor'),
      hue: optional(integer(-360, 360), 'hue rotation in degrees'),
      lightness: optional(number(-100, 100), 'percentage points to add to the lightness'),
    },
    check: (options) =>
      Object.values(options).some((value) => value !== undefined)
        ? null
        : ['brightness', 'one of brightness, saturation, hue and lightness is required'],
    examples: ['modulate --brightness 1.1 --saturation 0.8 --out faded *.jpg'],
    sample: { brightness: 1.1 },
    microseconds: () => 0.1,
    native: ({ brightness = 1, saturation = 1, hue = 0, lightness = 0 }) => ({
      ...{ to: PLACE.MODULATE, colours: true },
      apply: (frame) => frame.modulate({ brightness, saturation, hue, lightness }),
    }),
  }),
  adjustment('normalise', 'Stretch tones to the full range', {
    fields: {
      low: withDefault(number(0, 50), 1, 'percent of the pixels that become black'),
      high: withDefault(number(0, 50), 1, 'percent of the pixels that become white'),
    },
    curves: stretchCurves,
  }),
  adjustment('gamma', 'Brighten or darken midtones', {
    fields: { value: field(number(0.1, 10), 'midtones become brighter above 1, darker below') },
    examples: ['gamma --value 1.3 --out brighter *.jpg'],
    sample: { value: 1.3 },
    curve: (sample, { value }) => sample ** (1 / value),
  }),
  adjustment('levels', 'Set the black point, the white point and midtones', {
    fields: {
      black: withDefault(number(0, 254), 0, 'tone that becomes black, of 255'),
      white: withDefault(number(1, 255), 255, 'tone that becomes white, of 255'),
      gamma: withDefault(number(0.1, 10), 1, 'midtones become brighter above 1, darker below'),
    },
    check: ({ black, white }) =>
      black < white ? null : ['white', `expected more than black, which is ${black}`],
    examples: ['levels --black 12 --white 240 --gamma 1.1 --out graded *.jpg'],
    curve: (sample, { black, white, gamma }) =>
      Math.max(0, (sample * 255 - black) / (white - black)) ** (1 / gamma),
  }),
  adjustment('contrast', 'Raise or lower the contrast of images', {
    fields: { amount: field(number(-100, 100), 'above 0 more contrast, below 0 less') },
    examples: ['contrast --amount 20 --out crisp *.jpg'],
    sample: { amount: 20 },
    curve: (sample, { amount }) =>
      0.5 + (sample - 0.5) * Math.tan((Math.PI / 4) * (amount / 100 + 1)),
  }),
  adjustment('negate', 'Invert the colours of images', {
    // Between others, since sharp does not document where in its order it negates.
    native: (_, { deep, hasAlpha }) =>
      deep || hasAlpha
        ? undefined
        : {
            ...{ from: PLACE.FIRST, to: PLACE.COMPOSITE, colours: true, whole: true },
            apply: (frame) => frame.negate(),
          },
    curve: (sample) => 1 - sample,
  }),
  adjustment('tint', 'Tint midtones with a colour', {
    fields: {
      color: colourField('colour of the tint'),
      strength: withDefault(number(0, 200), 100, 'percent of the colour'),
    },
    examples: ['tint --color "#a0704a" --out sepia *.jpg'],
    sample: { color: '#a0704a' },
    after: ({ grey }, { color }) => ({ grey: grey && isGrey(parseColour(color)) }),
    curves: tintCurves,
  }),
  adjustment('mask', 'Make parts of images transparent by a mask', {
    fields: {
      image: field(
        boundedText(4096),
        'the mask, stretched over each image: its white stays, its black becomes transparent',
        { expects: 'a file', path: true },
      ),
    },
    images: ({ image }) => [image],
    load: openMask,
    examples: ['mask --image logo.png --format png --out masked *.jpg'],
    sample: { image: 'mask.png' },
    after: () => ({ hasAlpha: true }),
    pixels: masked,
  }),
  adjustment('round', 'Round the corners of images', {
    fields: {
      radius: optional(number(0.5, 65_535), 'radius of the corners in pixels'),
      percent: optional(number(0.1, 50), 'radius in percent of the shorter side'),
    },
    check: ({ radius, percent }) =>
      (radius === undefined) === (percent === undefined)
        ? ['radius', 'one of radius and percent is required']
        : null,
    examples: ['round --percent 8 --format png --out cards *.jpg'],
    sample: { percent: 8 },
    after: () => ({ hasAlpha: true }),
    pixels: rounded,
  }),
  adjustment('flatten', 'Lay transparent images on a background', {
    fields: { background: v.optional(colourField('colour behind the image'), 'white') },
    after: ({ grey }, { background }) => ({
      ...{ hasAlpha: false, grey: grey && isGrey(onWhite(parseColour(background))) },
    }),
    native: (_, { hasAlpha }) =>
      hasAlpha ? undefined : { to: PLACE.FLATTEN, apply: (frame) => frame },
    pixels: flattened,
  }),
] as const;
