import * as v from 'valibot';
import { field, number } from '../../schema/fields.ts';
import { PLACE } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

export const sharpen = stepOperation({
  name: 'sharpen',
  summary: 'Sharpen images',
  endpoint: 'batch-sharpen-images',
  cost: 40,
  fields: {
    sigma: v.optional(field(number(0.1, 10), 'radius of the Gaussian mask in pixels'), 1),
    flat: v.optional(field(number(0, 100), 'strength in flat areas'), 1),
    jagged: v.optional(field(number(0, 100), 'strength at edges'), 2),
  },
  examples: ['sharpen --sigma 0.8 --out sharp *.jpg'],
  plan: (facts, { sigma, flat, jagged }) => ({
    after: facts,
    // With transparency, sharp's other changes before it would work on premultiplied colours.
    from: facts.hasAlpha ? PLACE.FIRST : PLACE.SHARPEN,
    to: PLACE.SHARPEN,
    colours: true,
    held: 8,
    microseconds: 0.05 + sigma * 0.01,
    apply: (frame) => frame.sharpen({ sigma, m1: flat, m2: jagged }),
  }),
});
