import * as v from 'valibot';
import { type Facts, isSameSize, type Size } from '../../images/decoding/header.ts';
import { fileFailure } from '../../images/file-error.ts';
import { type Fault, integer, number, optional } from '../../schema/fields.ts';
import { focusOption, focusVariables, planFocus } from '../definition/focus.ts';
import {
  checkOneFrame,
  GRAVITIES,
  isStrategy,
  offsetOf,
  ratioField,
  ratioOf,
  STRATEGIES,
} from '../definition/placement.ts';
import { type OptionsOf, PLACE } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';

const fields = {
  left: optional(integer(0), 'pixels from the left edge of the image as seen'),
  top: optional(integer(0), 'pixels from the top edge of the image as seen'),
  width: optional(integer(1), 'pixels'),
  height: optional(integer(1), 'pixels'),
  ratio: v.optional(
    ratioField('keep the largest part with this ratio, instead of width and height'),
  ),
  percent: optional(number(0.01, 100), 'percentage of both sides, instead of width and height'),
  gravity: optional(
    v.picklist([...GRAVITIES, ...STRATEGIES]),
    'part to keep, instead of left and top; center by default with ratio and percent',
  ),
  focus: focusOption,
};

type CropOptions = OptionsOf<typeof fields>;

const MISSING = {
  left: 'is required, unless gravity or focus is given: an integer of at least 0',
  top: 'is required: an integer of at least 0',
  width: 'is required: an integer of at least 1',
  height: 'is required: an integer of at least 1',
} as const;

/** The options that are not given, with their messages. */
function missing(options: CropOptions, names: readonly (keyof typeof MISSING)[]): Fault[] {
  return names
    .filter((name) => options[name] === undefined)
    .map((name) => [name, MISSING[name]] as const);
}

function check(options: CropOptions): Fault | readonly Fault[] | null {
  const { left, top, width, height, ratio, percent, gravity, focus } = options;
  if (gravity !== undefined && focus !== undefined) return ['focus', 'cannot be used with gravity'];
  const [name, place] = focus === undefined ? ['gravity', gravity] : ['focus', focus];
  const scaled = ratio !== undefined || percent !== undefined;
  if (!scaled && place === undefined) return missing(options, ['left', 'top', 'width', 'height']);
  const conflict = `cannot be used with ${scaled ? 'ratio or percent' : name}`;
  if (left !== undefined) return ['left', conflict];
  if (top !== undefined) return ['top', conflict];
  const measured: Fault | null = isStrategy(place) ? [name, `${place} only with ratio`] : null;
  if (!scaled) return measured ?? missing(options, ['width', 'height']);
  if (width !== undefined) return ['width', conflict];
  if (height !== undefined) return ['height', conflict];
  if (ratio !== undefined && percent !== undefined) return ['percent', 'cannot be used with ratio'];
  return percent === undefined ? null : measured;
}

function sizeOf({ width, height }: Facts, options: CropOptions): Size {
  const { ratio, percent } = options;
  if (ratio !== undefined) {
    const wanted = ratioOf(ratio);
    return width / height > wanted
      ? { width: Math.max(1, Math.round(height * wanted)), height }
      : { width, height: Math.max(1, Math.round(width / wanted)) };
  }
  if (percent !== undefined) {
    const share = (side: number) => Math.max(1, Math.round((side * percent) / 100));
    return { width: share(width), height: share(height) };
  }
  return { width: options.width!, height: options.height! };
}

export const crop = stepOperation({
  name: 'crop',
  summary: 'Crop images to a rectangle, a ratio or a share',
  cost: 18,
  keeps: ['webp', 'png', 'jpeg'],
  fields,
  check,
  examples: [
    'crop --left 10 --top 10 --width 300 --height 200 --out cut *.jpg',
    'crop --ratio 16:9 --gravity attention --out wide *.jpg',
    'crop --ratio 1:1 --focus face --out portraits *.jpg',
  ],
  sample: { left: 0, top: 0, width: 100, height: 100 },
  variables: focusVariables,
  plan(facts, options) {
    const { focus } = options;
    const gravity = options.gravity ?? (isStrategy(focus) ? focus : 'center');
    const size = sizeOf(facts, options);
    const after = { ...facts, ...size, moved: true };
    if (isStrategy(gravity)) {
      checkOneFrame(facts, `gravity ${gravity}`);
      return {
        after,
        from: PLACE.RESIZE,
        to: PLACE.CUT,
        unchanged: isSameSize(size, facts),
        // One side stays as it is, so that nothing is resampled.
        apply: (frame) => frame.resize({ ...size, fit: 'cover', position: gravity }),
      };
    }
    const { left, top } = { ...offsetOf(gravity, facts, size), ...definedOf(options) };
    const { width, height } = size;
    if (left < 0 || top < 0 || left + width > facts.width || top + height > facts.height) {
      const place = options.left === undefined ? '' : ` at ${left},${top}`;
      throw fileFailure(
        'crop_out_of_bounds',
        `the rectangle ${width}x${height}${place} reaches beyond the image of ${facts.width}x${facts.height}`,
      );
    }
    const around = planFocus(focus, facts, facts, size);
    return {
      after,
      from: PLACE.EXTRACT,
      to: PLACE.EXTRACT,
      ...{ whole: true, keepsGainMap: !around },
      apply: async (frame, source) =>
        frame.extract(around ? await around(frame, source) : { left, top, width, height }),
    };
  },
});

function definedOf({ left, top }: CropOptions) {
  return left === undefined || top === undefined ? {} : { left, top };
}
