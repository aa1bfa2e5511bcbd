import * as v from 'valibot';
import { field, integer, number } from '../../schema/fields.ts';
import { PLACE } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

export const modulate = stepOperation({
  name: 'modulate',
  summary: 'Change brightness, saturation and hue of images',
  endpoint: 'batch-modulate-images',
  cost: 60,
  fields: {
    brightness: v.optional(field(number(0, 100), 'brightness factor')),
    saturation: v.optional(field(number(0, 100), 'saturation factor')),
    hue: v.optional(field(integer(-360, 360), 'hue rotation in degrees')),
    lightness: v.optional(field(number(-100, 100), 'percent that are added to the lightness')),
  },
  check: (options) =>
    Object.values(options).some((value) => value !== undefined) ? null : NOTHING,
  examples: ['modulate --brightness 1.1 --saturation 0.8 --out faded *.jpg'],
  sample: { brightness: 1.1 },
  plan: (facts, { brightness = 1, saturation = 1, hue = 0, lightness = 0 }) => ({
    after: facts,
    // With transparency, sharp's other changes before it would work on premultiplied colours.
    from: facts.hasAlpha ? PLACE.FIRST : PLACE.MODULATE,
    to: PLACE.MODULATE,
    colours: true,
    microseconds: 0.1,
    apply: (frame) => frame.modulate({ brightness, saturation, hue, lightness }),
  }),
});

const NOTHING = [
  'brightness',
  'one of brightness, saturation, hue and lightness is required',
] as const;
