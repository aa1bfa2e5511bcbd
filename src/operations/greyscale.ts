import { PLACE } from './step.ts';
import { stepOperation } from './step-operation.ts';

export const greyscale = stepOperation({
  name: 'greyscale',
  summary: 'Turn images grey',
  endpoint: 'batch-greyscale-images',
  cost: 30,
  fields: {},
  examples: ['greyscale --out grey *.jpg'],
  plan: (facts) => ({
    after: { ...facts, grey: true },
    // sharp's own step turns sixteen bits into eight.
    from: facts.deep ? PLACE.FIRST : PLACE.GREYSCALE,
    to: facts.deep ? PLACE.LAST : PLACE.GREYSCALE,
    colours: true,
    microseconds: 0.02,
    apply: (frame) => (facts.deep ? frame.pipelineColourspace('grey16') : frame.greyscale()),
  }),
});
