import { field, number } from '../../schema/fields.ts';
import { PLACE } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

export const blur = stepOperation({
  name: 'blur',
  summary: 'Blur images',
  endpoint: 'batch-blur-images',
  cost: 40,
  fields: {
    sigma: field(number(0.3, 250), 'radius of the Gaussian mask in pixels'),
  },
  examples: ['blur --sigma 4 --out blurred *.jpg'],
  sample: { sigma: 4 },
  plan: (facts, { sigma }) => ({
    after: facts,
    // With transparency, sharp's other changes before it would work on premultiplied colours.
    from: facts.hasAlpha ? PLACE.FIRST : PLACE.BLUR,
    to: PLACE.BLUR,
    held: 8,
    microseconds: 0.02 + sigma * 0.02,
    apply: (frame) => frame.blur(sigma),
  }),
});
