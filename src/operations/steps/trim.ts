import * as v from 'valibot';
import { colourField, parseColour } from '../../images/colour.ts';
import { integer, number, withDefault } from '../../schema/fields.ts';
import { checkOneFrame } from '../definition/placement.ts';
import { PLACE } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

export const trim = stepOperation({
  name: 'trim',
  summary: 'Trim solid-colour borders',
  cost: 800,
  fields: {
    threshold: withDefault(number(0, 255), 10, 'largest difference from the border colour'),
    edge: v.optional(
      colourField('border colour to trim; the colour of the top left pixel by default'),
    ),
    margin: withDefault(integer(0, 65_535), 0, 'pixels of the border to keep'),
    lineArt: withDefault(v.boolean(), false, 'the image is line art rather than a photograph'),
  },
  examples: ['trim --threshold 20 --out trimmed *.jpg'],
  plan(facts, { threshold, edge, margin, lineArt }) {
    checkOneFrame(facts, 'trim');
    return {
      after: { ...facts, moved: true },
      from: PLACE.FIRST,
      to: PLACE.LAST,
      measured: true,
      // The image is searched once and read again.
      held: 8,
      // libvips takes the median of each pixel's neighbours, except in line art.
      microseconds: lineArt ? 0.02 : 0.16,
      // libvips compares each pixel with its neighbours, and refuses images that have none.
      apply: (frame) =>
        Math.min(facts.width, facts.height) < 3
          ? frame
          : frame.trim({
              threshold,
              lineArt,
              margin,
              ...(edge !== undefined && { background: parseColour(edge) }),
            }),
    };
  },
});
