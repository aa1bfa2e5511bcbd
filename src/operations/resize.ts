import * as v from 'valibot';
import { onWhite, parseColour } from '../images/colour.ts';
import {
  checkOutputSize,
  encode,
  encodingFields,
  formatField,
  sameFormat,
} from '../images/encoding.ts';
import { fileFailure } from '../images/file-error.ts';
import { FORMATS } from '../images/formats.ts';
import { type Header, readHeader } from '../images/header.ts';
import type { Sharp } from '../images/input.ts';
import { openPicture } from '../images/picture.ts';
import { addAlpha, mapFrames } from '../images/pixels.ts';
import { field, integer, number, rule } from '../schema/fields.ts';
import { defineOperation } from './operation.ts';

const sideField = (description: string) => v.optional(field(integer(1), description));

const POSITIONS = [
  'center',
  'north',
  'northeast',
  'east',
  'southeast',
  'south',
  'southwest',
  'west',
  'northwest',
  'attention',
  'entropy',
] as const;

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

const options = v.pipe(
  v.strictObject({
    width: sideField('pixels; alone, the height follows'),
    height: sideField('pixels; alone, the width follows'),
    percent: v.optional(field(number(1, 400), 'of both sides, instead of width and height')),
    fit: v.optional(
      field(
        v.picklist(['inside', 'cover', 'contain', 'fill', 'outside']),
        'how the image meets width and height',
      ),
      'inside',
    ),
    position: v.optional(
      field(v.picklist(POSITIONS), 'what cover keeps and where contain puts the image'),
      'center',
    ),
    enlarge: v.optional(field(v.boolean(), 'let small images grow'), false),
    kernel: v.optional(field(v.picklist(KERNELS), 'resampling filter'), 'lanczos3'),
    format: v.optional(formatField("output format; the input's where not given")),
    ...encodingFields,
  }),
  rule(({ width, height, percent, fit, position }) => {
    if (percent !== undefined && (width !== undefined || height !== undefined)) {
      return ['percent', 'excludes width and height'];
    }
    if (percent === undefined && width === undefined && height === undefined) {
      return ['width', 'one of width, height and percent is required'];
    }
    return (position === 'attention' || position === 'entropy') && fit !== 'cover'
      ? ['position', `${position} goes with fit cover only`]
      : null;
  }),
);

type ResizeOptions = v.InferOutput<typeof options>;

interface Size {
  readonly width: number;
  readonly height: number;
}

const isSize = (one: Size, other: Size) => one.width === other.width && one.height === other.height;

const atLeastOne = (pixels: number) => Math.max(1, Math.round(pixels));

/**
 * The size that an image is scaled to, and the size of the output: a canvas for `contain`, a cut-out
 * for `cover`. Computed here rather than by sharp, so that too large outputs are refused before any
 * work, and because sharp's `withoutEnlargement` has no effect on `contain`.
 */
export function resizedSize(from: Size, to: ResizeOptions): { scaled: Size; final: Size } {
  if (to.percent !== undefined) {
    const scaled = {
      width: atLeastOne((from.width * to.percent) / 100),
      height: atLeastOne((from.height * to.percent) / 100),
    };
    return { scaled, final: scaled };
  }
  const xScale = to.width === undefined ? undefined : to.width / from.width;
  const yScale = to.height === undefined ? undefined : to.height / from.height;
  const largest = to.enlarge ? Number.POSITIVE_INFINITY : 1;
  if (to.fit === 'fill' && xScale !== undefined && yScale !== undefined) {
    const scaled = {
      width: atLeastOne(from.width * Math.min(xScale, largest)),
      height: atLeastOne(from.height * Math.min(yScale, largest)),
    };
    return { scaled, final: scaled };
  }
  const pick = to.fit === 'cover' || to.fit === 'outside' ? Math.max : Math.min;
  const scale = Math.min(
    largest,
    xScale === undefined || yScale === undefined ? (xScale ?? yScale)! : pick(xScale, yScale),
  );
  const scaled = { width: atLeastOne(from.width * scale), height: atLeastOne(from.height * scale) };
  const box = { width: to.width ?? scaled.width, height: to.height ?? scaled.height };
  if (to.fit === 'contain') return { scaled, final: box };
  if (to.fit === 'cover') {
    const final = {
      width: Math.min(box.width, scaled.width),
      height: Math.min(box.height, scaled.height),
    };
    return { scaled, final };
  }
  return { scaled, final: scaled };
}

/** The share of the free space before the image: 0, 0.5 or 1 along each axis. */
function anchor(position: ResizeOptions['position']): { x: number; y: number } {
  const x = position.endsWith('west') ? 0 : position.endsWith('east') ? 1 : 0.5;
  const y = position.startsWith('north') ? 0 : position.startsWith('south') ? 1 : 0.5;
  return { x, y };
}

function place(image: Sharp, from: Header, to: ResizeOptions, alpha: boolean): Sharp {
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
  const { x, y } = anchor(position);
  const left = Math.round((final.width - scaled.width) * x);
  const top = Math.round((final.height - scaled.height) * y);
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

export const resize = defineOperation({
  name: 'resize',
  summary: 'Resize images',
  gives: 'image',
  endpoint: 'batch-resize-images',
  cost: 15,
  options,
  examples: [
    "resize --width 800 --name '{name}-{width}w.{ext}' *.jpg",
    'resize --width 400 --height 400 --fit cover --position attention --format webp *.jpg',
    'resize --percent 50 --recursive . --out half',
  ],
  sample: { width: 800 },
  async run(input, given) {
    const header = await readHeader(input);
    const to = given.format ?? sameFormat(header);
    const { scaled, final } = resizedSize(header, given);
    const picture = await openPicture(input, header, to, given);
    const { image, frames } = picture;
    checkOutputSize(input, final, frames);
    if (frames > 1 && (given.position === 'attention' || given.position === 'entropy')) {
      throw fileFailure(
        'animation_unsupported',
        `position ${given.position} would cut each of the ${frames} frames elsewhere; animated "first" takes one`,
      );
    }
    const resized = (frame: Sharp) => place(frame, header, given, FORMATS[to].alpha);
    // Frame by frame: resampling all at once would mix the edges of neighbouring frames.
    const result = frames > 1 ? await mapFrames(input, image, header, resized) : resized(image);
    const unchanged = isSize(scaled, header) && isSize(final, header);
    return encode(input, picture, result, { to, size: final, unchanged }, given);
  },
});
