import * as v from 'valibot';
import { colourField } from '../../images/colour.ts';
import type { Size } from '../../images/decoding/header.ts';
import { fontField } from '../../images/layers/fonts.ts';
import type { Layer } from '../../images/layers/layer.ts';
import { isVisible, MAX_LINES, type TextLayer } from '../../images/layers/text-layer.ts';
import { boundedText, integer, number, optional, withDefault } from '../../schema/fields.ts';
import { placeholderFault } from '../definition/name-template.ts';
import { GRAVITIES } from '../definition/placement.ts';
import type { OptionsOf } from '../definition/step.ts';

const BLENDS = [
  ...(['over', 'multiply', 'screen', 'overlay', 'darken', 'lighten'] as const),
  ...(['soft-light', 'hard-light', 'difference'] as const),
] as const;

/** Placeholders of a text. */
const PLACEHOLDERS = ['name', 'index', 'date'] as const;

export const overlayFields = {
  image: optional(boundedText(4096), 'image to lay over the others, such as a logo', {
    expects: 'a file',
    path: true,
  }),
  text: optional(
    boundedText(300),
    'text to lay over, with {name} {index} {date} or {date:YYYY} of each image',
    { expects: 'a text of 1 to 300 characters' },
  ),
  gravity: withDefault(v.picklist(GRAVITIES), 'southeast', 'position of the overlay'),
  x: withDefault(
    integer(-65_535, 65_535),
    0,
    'pixels from the edge that gravity names, or to the right',
  ),
  y: withDefault(integer(-65_535, 65_535), 0, 'pixels from the edge that gravity names, or down'),
  scale: optional(
    number(0.001, 1),
    "width as a share of the image's width; its own size by default",
  ),
  opacity: withDefault(number(0.01, 1), 1, 'opacity'),
  angle: withDefault(number(-360, 360), 0, 'degrees clockwise'),
  tile: withDefault(v.boolean(), false, 'repeat the overlay over the whole image'),
  gap: optional(integer(0, 10_000), 'pixels between tiles'),
  blend: withDefault(v.picklist(BLENDS), 'over', 'blend mode'),
  font: v.optional(fontField('installed font, or several to choose from; sans-serif by default')),
  size: optional(
    integer(4, 2000),
    'letter size in pixels; a twentieth of the shorter side by default',
  ),
  color: v.optional(colourField('colour of the text; white by default')),
  box: v.optional(colourField('colour of a box behind the text')),
};

export type OverlayOptions = OptionsOf<typeof overlayFields>;

/** What `load` adds to the options. */
export interface LayerOptions {
  readonly layer: Layer;
  /** Pixels of an image that keeps its size. */
  readonly own?: Size;
  /** The layer, where it is a text. */
  readonly letters?: TextLayer;
}

/** The fault of a text; null where it is valid. */
function textFault(text: string): string | null {
  if (/[^\P{Cc}\n]|\p{Cs}/u.test(text)) return 'expected no control characters';
  if (!isVisible(text)) return 'expected visible characters';
  const lines = text.split('\n').length;
  if (lines > MAX_LINES) return `expected at most ${MAX_LINES} lines, received ${lines}`;
  return placeholderFault(text, PLACEHOLDERS);
}

export function checkOverlay(options: OverlayOptions): readonly [string, string] | null {
  const { image, text, size, scale, tile, gap } = options;
  if (image === undefined && text === undefined)
    return ['image', 'one of image and text is required'];
  if (image !== undefined && text !== undefined) return ['text', 'cannot be used with image'];
  for (const name of ['font', 'size', 'color', 'box'] as const) {
    if (text === undefined && options[name] !== undefined) return [name, 'only with text'];
  }
  if (size !== undefined && scale !== undefined) return ['size', 'cannot be used with scale'];
  if (gap !== undefined && !tile) return ['gap', 'only with tile'];
  const fault = text === undefined ? null : textFault(text);
  return fault === null ? null : ['text', fault];
}
