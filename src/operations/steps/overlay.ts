import type { Facts, Header, Size } from '../../images/decoding/header.ts';
import { read } from '../../images/decoding/pixels.ts';
import { basicExif, readExif } from '../../images/exif/exif.ts';
import { fileFailure } from '../../images/file-error.ts';
import type { ImageInput, Sharp } from '../../images/input.ts';
import { openImageLayer } from '../../images/layers/image-layer.ts';
import {
  boundsOf,
  drawLayer,
  type Layer,
  type LayerPixels,
  tileOf,
} from '../../images/layers/layer.ts';
import { openTextLayer, type TextLayer } from '../../images/layers/text-layer.ts';
import type { Warning } from '../../images/output.ts';
import { counted } from '../../words.ts';
import { fillTemplate, needsDate } from '../definition/name-template.ts';
import { offsetOf } from '../definition/placement.ts';
import { openPixels } from '../definition/progress.ts';
import { type LoadedOptions, PLACE, type Source } from '../definition/step.ts';
import { stepOperation } from '../definition/step-operation.ts';
import {
  checkOverlay,
  type LayerOptions,
  type OverlayOptions,
  overlayFields,
} from './overlay-options.ts';

/** Pixels of letters below which a text is hard to read. */
const LEGIBLE = 8;

async function load(source: Source, options: OverlayOptions): Promise<LoadedOptions> {
  const { input, header } = source;
  const { image, text, font, color = 'white', box } = options;
  let loaded: LayerOptions;
  let warnings: readonly Warning[];
  if (image !== undefined) {
    const layer = await openImageLayer(input, image);
    loaded = { layer, own: layer.size };
    warnings = layer.warnings;
  } else {
    const shown = await textOf(input, header, text!);
    const layer = await openTextLayer(input, shown, { font, color, box });
    loaded = { layer, letters: layer };
    warnings = layer.warnings;
  }
  const own = loaded.layer.grey ? [] : colourWarnings(source);
  return { options: { ...options, ...loaded }, warnings: [...warnings, ...own] };
}

/** Warns of colours of sRGB over an image whose own colours are kept. */
function colourWarnings({ header, profiled }: Source): Warning[] {
  const { icc, space } = header.metadata;
  if (!profiled || icc === undefined || space === 'cmyk' || isSrgb(icc)) return [];
  const message =
    "the overlay's colours were not converted to the colour profile that the output keeps";
  return [{ code: 'overlay_colours_not_converted', message }];
}

/** Whether a profile is called sRGB, in ASCII or in UTF-16. */
function isSrgb(profile: Uint8Array): boolean {
  const text = Buffer.from(profile).toString('latin1').replaceAll('\0', '');
  return /sRGB|c2ci/.test(text);
}

/** A text with the values of its placeholders. */
async function textOf(input: ImageInput, { exif }: Header, text: string): Promise<string> {
  const { name = '', index } = input.variables;
  let date: string | null = null;
  if (needsDate(text)) {
    const tags = exif && readExif(exif);
    date = (tags && basicExif(tags).dateTime?.slice(0, 19)) ?? null;
  }
  // Names of files may contain control characters.
  const visible = name.replace(/\p{Cc}/gu, '\ufffd');
  return fillTemplate(text, { name: visible, index, date } as never)!;
}

/** Pixels of a text's letters, where it has no scale. */
function pixelsOf({ width, height }: Facts, { size }: OverlayOptions): number {
  return size ?? Math.max(LEGIBLE, Math.min(width, height) / 20);
}

/**
 * The layer to draw: a text that is wider than the image in lines, with letters that are only as much smaller as
 * their number makes necessary.
 */
function layerOf(facts: Facts, options: OverlayOptions & LayerOptions): Layer & Partial<TextLayer> {
  const { layer, letters, scale, tile, angle, gravity, x, y } = options;
  if (!letters || scale !== undefined || tile || angle % 180 !== 0) return letters ?? layer;
  const wanted = pixelsOf(facts, options);
  const width = Math.max(1, facts.width - Math.max(0, x));
  const height = Math.max(1, facts.height - Math.max(0, y));
  if (wanted * letters.emsHigh * letters.ratio <= width) return letters;
  const align = /east|west/.exec(gravity)?.[0];
  const alignment = align === undefined ? 'centre' : align === 'east' ? 'right' : 'left';
  for (let pixels = wanted; ; pixels *= 0.9) {
    const lines = letters.wrapped(width / pixels, alignment);
    if (lines.emsHigh * pixels <= height || pixels < 1) return lines;
  }
}

/** A warning of a text that became too small to be read. */
function smallText(
  { emsHigh }: Partial<TextLayer>,
  { height }: Size,
  { size = LEGIBLE }: OverlayOptions,
): Warning[] {
  const pixels = emsHigh === undefined ? Number.POSITIVE_INFINITY : height / emsHigh;
  if (pixels > Math.min(size, LEGIBLE) - 0.5) return [];
  const high = Math.max(1, Math.round(pixels));
  const message = `the letters of the text are ${counted(high, 'pixel')} high; shorten it or make the image larger`;
  return [{ code: 'text_small', message }];
}

/** The size of the layer before it is rotated: as asked for, or smaller so that it fits into the image. */
function sizeOf(
  facts: Facts,
  options: OverlayOptions & LayerOptions,
  layer: Layer & Partial<TextLayer>,
): Size {
  const { own, scale, angle, x, y } = options;
  const isWrapped = layer !== options.layer;
  const wanted = () => {
    if (scale !== undefined) return { width: facts.width * scale, height: 0 };
    if (own) return own;
    if (isWrapped) return { width: Math.max(1, facts.width - Math.max(0, x)), height: 0 };
    return { width: pixelsOf(facts, options) * layer.emsHigh! * layer.ratio, height: 0 };
  };
  const { width, height } = wanted();
  const whole = { width, height: height || width / layer.ratio };
  const bounds = boundsOf(whole, angle);
  // A rotated picture may be a pixel larger on each side.
  const spare = angle % 360 === 0 ? 0 : 2;
  const room = (side: number, offset: number) => Math.max(1, side - Math.max(0, offset) - spare);
  const factor = Math.min(
    1,
    room(facts.width, x) / bounds.width,
    room(facts.height, y) / bounds.height,
  );
  return {
    width: Math.max(1, Math.round(whole.width * factor)),
    height: Math.max(1, Math.round(whole.height * factor)),
  };
}

function placeOf(facts: Facts, { gravity, x, y }: OverlayOptions, size: Size) {
  const place = offsetOf(gravity, facts, size);
  return {
    left: place.left + (gravity.endsWith('east') ? -x : x),
    top: place.top + (gravity.startsWith('south') ? -y : y),
  };
}

/** Refuses an overlay of which no pixel would be within the image. */
function checkPlace(facts: Facts, options: OverlayOptions, size: Size): void {
  const { left, top } = placeOf(facts, options, size);
  const { width, height } = size;
  const isOutside =
    left >= facts.width || top >= facts.height || left + width <= 0 || top + height <= 0;
  if (!isOutside || options.tile) return;
  throw fileFailure(
    'overlay_out_of_bounds',
    `the overlay of ${width}x${height} at ${left},${top} would be outside of the image of ${facts.width}x${facts.height}`,
  );
}

async function composite(
  frame: Sharp,
  { input, header, profiled }: Source,
  facts: Facts,
  options: OverlayOptions & LayerOptions,
  drawn: LayerPixels,
): Promise<Sharp> {
  const { tile, gap = 0, blend } = options;
  const place = placeOf(facts, options, drawn);
  const { data, width, height } = tile ? tileOf(drawn, gap, place, facts) : drawn;
  // sharp would combine deep colours in Display P3.
  const converts = facts.deep && header.profiled && !profiled;
  const image = converts ? openPixels(input, await read(frame, facts)) : frame;
  const composed = image.composite([
    {
      // sharp accepts any typed array here; its types declare bytes only.
      input: (facts.deep ? Uint16Array.from(data, (sample) => sample * 257) : data) as Buffer,
      raw: { width, height, channels: 4 },
      ...(tile ? { tile: true, gravity: 'northwest' } : place),
      blend,
    },
  ]);
  const precise = facts.deep ? composed.pipelineColourspace('rgb16') : composed;
  // sharp adds an alpha channel.
  return facts.hasAlpha ? precise : precise.removeAlpha();
}

export const overlay = stepOperation({
  name: 'overlay',
  summary: 'Put a logo or a text on images',
  cost: 30,
  fields: overlayFields,
  check: checkOverlay,
  images: ({ image }) => (image === undefined ? [] : [image]),
  variables: ({ text = '' }) =>
    (['name', 'index'] as const).filter((name) => text.includes(`{${name}}`)),
  load: load as never,
  examples: [
    'overlay --image logo.png --scale 0.2 --x 20 --y 20 --out marked *.jpg',
    "overlay --text '© {name}' --opacity 0.6 --out marked *.jpg",
    'overlay --text DRAFT --tile --gap 80 --angle -30 --opacity 0.2 --out drafts *.jpg',
  ],
  sample: { text: '© {name}' },
  plan(facts, given) {
    const options = given as OverlayOptions & LayerOptions;
    const after = { ...facts, grey: facts.grey && options.layer.grey };
    const layer = layerOf(facts, options);
    const size = sizeOf(facts, options, layer);
    checkPlace(facts, options, boundsOf(size, options.angle));
    const { angle, opacity } = options;
    // Once for all frames of an animation.
    let drawn: Promise<LayerPixels> | undefined;
    const share = (size.width * size.height) / (facts.width * facts.height);
    return {
      after,
      // sharp would compute most changes before it twice in one pipeline (0.35.5): for the picture and for its alpha.
      from: PLACE.FIRST,
      to: PLACE.COMPOSITE,
      colours: options.blend !== 'over',
      held: 16 * share + (facts.deep ? 8 : 0),
      microseconds: 0.02 + 0.1 * share,
      warnings: smallText(layer, size, options),
      async apply(frame, source) {
        drawn ??= drawLayer(source.input, layer, size, { angle, opacity });
        return composite(frame, source, facts, options, await drawn);
      },
    };
  },
});
