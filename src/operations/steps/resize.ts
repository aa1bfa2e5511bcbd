import * as v from 'valibot';
import { colourField, isGrey, onWhite, parseColour } from '../../images/colour.ts';
import { type Facts, isSameSize, type Size } from '../../images/decoding/header.ts';
import { addAlpha } from '../../images/decoding/pixels.ts';
import type { Sharp } from '../../images/input.ts';
import { integer, number, optional, withDefault } from '../../schema/fields.ts';
import { focusOption, focusVariables, planFocus } from '../definition/focus.ts';
import {
  checkOneFrame,
  GRAVITIES,
  isStrategy,
  offsetOf,
  STRATEGIES,
} from '../definition/placement.ts';
import { type OptionsOf, PLACE, placeOfPaint } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

const sideField = (description: string) => optional(integer(1), description);

const KERNELS = [
  'lanczos3',
  'lanczos2',
  'mitchell',
  'cubic',
  'linear',
  'nearest',
  'mks2013',
  'mks2021',
] as const;

const fields = {
  width: sideField('pixels; without height, the height follows'),
  height: sideField('pixels; without width, the width follows'),
  percent: optional(number(1, 400), 'percentage of both sides, instead of width and height'),
  fit: withDefault(
    v.picklist(['inside', 'cover', 'contain', 'fill', 'outside']),
    'inside',
    'how the image fits width and height',
  ),
  position: withDefault(
    v.picklist([...GRAVITIES, ...STRATEGIES]),
    'center',
    'part that cover keeps, and position of the image for contain',
  ),
  focus: focusOption,
  enlarge: withDefault(v.boolean(), false, 'enlarge small images'),
  kernel: withDefault(v.picklist(KERNELS), 'lanczos3', 'resampling filter'),
  background: v.optional(
    colourField(
      'background of added areas, and of transparent images if the format has no transparency',
    ),
    'white',
  ),
};

type ResizeOptions = OptionsOf<typeof fields>;

/**
 * The size that an image is scaled to, and the size of the output: a canvas for `contain`, a cut-out
 * for `cover`. Computed here rather than by sharp, so that too large outputs are refused before any
 * work, and because sharp's `withoutEnlargement` has no effect on `contain`.
 */
export function resizedSize(from: Size, to: ResizeOptions): { scaled: Size; final: Size } {
  const scaledBy = (x: number, y = x) => ({
    width: Math.max(1, Math.round(from.width * x)),
    height: Math.max(1, Math.round(from.height * y)),
  });
  if (to.percent !== undefined) {
    const share = (side: number) => Math.max(1, Math.round((side * to.percent!) / 100));
    const scaled = { width: share(from.width), height: share(from.height) };
    return { scaled, final: scaled };
  }
  const xScale = to.width === undefined ? undefined : to.width / from.width;
  const yScale = to.height === undefined ? undefined : to.height / from.height;
  const largest = to.enlarge ? Number.POSITIVE_INFINITY : 1;
  const [x, y] = [xScale ?? yScale!, yScale ?? xScale!];
  if (to.fit === 'fill' && xScale !== undefined && yScale !== undefined) {
    const scaled = scaledBy(Math.min(x, largest), Math.min(y, largest));
    return { scaled, final: scaled };
  }
  const pick = to.fit === 'cover' || to.fit === 'outside' ? Math.max : Math.min;
  const scaled = scaledBy(Math.min(largest, pick(x, y)));
  const box = { width: to.width ?? scaled.width, height: to.height ?? scaled.height };
  if (to.fit === 'contain') return { scaled, final: box };
  if (to.fit !== 'cover') return { scaled, final: scaled };
  const final = {
    width: Math.min(box.width, scaled.width),
    height: Math.min(box.height, scaled.height),
  };
  return { scaled, final };
}

function place(image: Sharp, from: Facts, to: ResizeOptions, alpha: boolean): Sharp {
  const { scaled, final } = resizedSize(from, to);
  const { kernel, position } = to;
  if (to.fit === 'cover') {
    return image.resize({
      ...final,
      fit: 'cover',
      position,
      kernel,
      withoutEnlargement: !to.enlarge,
    });
  }
  const resized = image.resize({ ...scaled, fit: 'fill', kernel });
  if (to.fit !== 'contain') return resized;
  const { left, top } = offsetOf(position, final, scaled);
  const given = parseColour(to.background);
  const background = alpha ? given : onWhite(given);
  return (background.alpha < 1 ? addAlpha(resized, from, scaled) : resized).extend({
    left,
    top,
    right: final.width - scaled.width - left,
    bottom: final.height - scaled.height - top,
    background,
  });
}

export const resize = stepOperation({
  name: 'resize',
  summary: 'Resize images',
  cost: 15,
  fields,
  check({ width, height, percent, fit, position, focus }) {
    const isSized = width !== undefined || height !== undefined;
    if (percent !== undefined && isSized) return ['percent', 'cannot be used with width or height'];
    if (percent === undefined && !isSized)
      return ['width', 'one of width, height and percent is required'];
    if (focus !== undefined && fit !== 'cover') return ['focus', 'only with fit cover'];
    if (focus !== undefined && position !== 'center')
      return ['focus', 'cannot be used with position'];
    return isStrategy(position) && fit !== 'cover'
      ? ['position', `${position} only with fit cover`]
      : null;
  },
  examples: [
    "resize --width 800 --name '{name}-{width}w.{ext}' *.jpg",
    'resize --width 400 --height 400 --fit cover --position attention --format webp *.jpg',
    'resize --width 400 --height 400 --fit cover --focus 0.3,0.6 --out squares *.jpg',
    'resize --percent 50 --recursive . --out half',
  ],
  sample: { width: 800 },
  variables: focusVariables,
  plan(facts, given, { alpha }) {
    const { scaled, final } = resizedSize(facts, given);
    const { fit, focus } = given;
    const position = isStrategy(focus) ? focus : given.position;
    const options = { ...given, position };
    const around = planFocus(focus, facts, scaled, final);
    if (isStrategy(position)) checkOneFrame(facts, `position ${position}`);
    const grows = fit === 'contain' && !isSameSize(scaled, final);
    const background = parseColour(options.background);
    const after = {
      ...facts,
      ...final,
      hasAlpha: facts.hasAlpha || (grows && alpha && background.alpha < 1),
      grey: facts.grey && (!grows || isGrey(background)),
      moved: facts.moved || fit === 'cover' || fit === 'contain',
    };
    return {
      after,
      from: placeOfPaint(facts, after, PLACE.RESIZE),
      to: fit === 'contain' ? PLACE.EXTEND : PLACE.CUT,
      keepsGainMap: !around && !isStrategy(position),
      async apply(frame, source) {
        if (!around) return place(frame, facts, options, alpha);
        const part = await around(frame, source);
        return frame.resize({ ...scaled, fit: 'fill', kernel: options.kernel }).extract(part);
      },
      unchanged: isSameSize(scaled, facts) && isSameSize(final, facts),
    };
  },
});
