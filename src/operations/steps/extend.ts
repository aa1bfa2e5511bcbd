import * as v from 'valibot';
import { colourField, isGrey, onWhite, parseColour } from '../../images/colour.ts';
import type { Facts } from '../../images/decoding/header.ts';
import { addAlpha } from '../../images/decoding/pixels.ts';
import { integer, withDefault } from '../../schema/fields.ts';
import { GRAVITIES, offsetOf, ratioField, ratioOf } from '../definition/placement.ts';
import { type OptionsOf, PLACE, placeOfPaint } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

const edge = (side: string) => withDefault(integer(0), 0, `pixels added ${side}`);

const fields = {
  top: edge('above'),
  right: edge('to the right'),
  bottom: edge('below'),
  left: edge('to the left'),
  ratio: v.optional(
    ratioField('pad to the smallest canvas with this ratio, instead of the four edges'),
  ),
  gravity: withDefault(v.picklist(GRAVITIES), 'center', 'position of the image for ratio'),
  content: withDefault(
    v.picklist(['background', 'copy', 'repeat', 'mirror']),
    'background',
    'content of the edges: the background, copied edge pixels, or the repeated or mirrored image',
  ),
  background: v.optional(
    colourField(
      'background of the edges, and of transparent images if the format has no transparency',
    ),
    'white',
  ),
};

type ExtendOptions = OptionsOf<typeof fields>;

function edgesOf(facts: Facts, { ratio, gravity, top, right, bottom, left }: ExtendOptions) {
  if (ratio === undefined) return { top, right, bottom, left };
  const wanted = ratioOf(ratio);
  const canvas = {
    width: Math.max(facts.width, Math.round(facts.height * wanted)),
    height: Math.max(facts.height, Math.round(facts.width / wanted)),
  };
  const before = offsetOf(gravity, canvas, facts);
  return {
    ...before,
    right: canvas.width - facts.width - before.left,
    bottom: canvas.height - facts.height - before.top,
  };
}

export const extend = stepOperation({
  name: 'extend',
  summary: 'Add borders to images, or pad them to a ratio',
  cost: 25,
  fields,
  check({ top, right, bottom, left, ratio }) {
    const edges = top + right + bottom + left;
    if (ratio !== undefined && edges > 0)
      return ['ratio', 'cannot be used with top, right, bottom or left'];
    return ratio === undefined && edges === 0
      ? ['top', 'one of top, right, bottom, left and ratio is required']
      : null;
  },
  examples: [
    'extend --ratio 1:1 --background white --out square *.jpg',
    'extend --top 20 --bottom 20 --content mirror --out framed *.jpg',
  ],
  sample: { ratio: '1:1' },
  plan(facts, options, { alpha }) {
    const edges = edgesOf(facts, options);
    const { content } = options;
    const filled = content === 'background';
    const given = parseColour(options.background);
    const background = alpha ? given : onWhite(given);
    const transparent = filled && background.alpha < 1;
    const width = facts.width + edges.left + edges.right;
    const height = facts.height + edges.top + edges.bottom;
    const after = {
      ...facts,
      width,
      height,
      hasAlpha: facts.hasAlpha || transparent,
      grey: facts.grey && (!filled || isGrey(background)),
      moved: true,
    };
    return {
      after,
      // The edges must not be premultiplied with the image.
      from: after.hasAlpha ? PLACE.FIRST : placeOfPaint(facts, after, PLACE.EXTEND),
      to: PLACE.EXTEND,
      keepsGainMap: true,
      unchanged: width === facts.width && height === facts.height,
      held: content === 'background' || content === 'copy' ? 0 : 8,
      apply: (frame) =>
        (transparent ? addAlpha(frame, facts, facts) : frame).extend({
          ...edges,
          background,
          extendWith: content,
        }),
    };
  },
});
