import { PLACE } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

export const greyscale = stepOperation({
  name: 'greyscale',
  summary: 'Convert images to greyscale',
  endpoint: 'batch-greyscale-images',
  cost: 30,
  fields: {},
  examples: ['greyscale --out grey *.jpg'],
  plan(facts) {
    // sharp's own turns sixteen bits into eight, and drops alpha from raw pixels (0.35.5, pipeline.cc).
    const own = !facts.deep && !facts.hasAlpha;
    return {
      after: { ...facts, grey: true },
      from: facts.hasAlpha ? PLACE.FIRST : own ? PLACE.GREYSCALE : PLACE.MODULATE,
      to: own ? PLACE.GREYSCALE : PLACE.MODULATE,
      colours: true,
      microseconds: own ? 0.02 : 0.1,
      // Without chroma a colour keeps its luminance, too.
      apply: (frame) => (own ? frame.greyscale() : frame.modulate({ saturation: 0 })),
    };
  },
});
