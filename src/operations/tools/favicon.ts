import * as v from 'valibot';
import { type IconImage, writeIco } from '../../images/bitmap/ico.ts';
import {
  type Colour,
  colourField,
  onWhite,
  parseColour,
  TRANSPARENT,
} from '../../images/colour.ts';
import { type Header, readHeader } from '../../images/decoding/header.ts';
import { openInEightBits } from '../../images/decoding/true-colours.ts';
import { forPixels, type ImageInput, type Sharp } from '../../images/input.ts';
import type { OutputImage, Warning } from '../../images/output.ts';
import { withDefault } from '../../schema/fields.ts';
import { defineSet } from '../batch/set.ts';
import type { ThreadOperation } from '../definition/operation.ts';
import { baseUrlField, tag, urlOf } from './html.ts';

export interface FaviconOptions {
  /** Colour behind icons that must be opaque. */
  readonly background: string;
}

/** The file that no image format of the outputs is. */
export interface FaviconData {
  readonly ico: Uint8Array;
}

/** Sides of the images in the ICO file: tabs, tabs on dense screens, the task bar of Windows. */
const ICO_SIDES = [16, 32, 48] as const;

/**
 * Icons beside the ICO file: of iOS, and those that a web app manifest must have. Opaque ones are laid on the background,
 * since iOS shows transparency as black; systems cut shapes of their own out of maskable ones.
 */
export const ICON_FILES = [
  { name: 'apple-touch-icon.png', side: 180, opaque: true, maskable: false },
  { name: 'icon-192.png', side: 192, opaque: false, maskable: false },
  { name: 'icon-512.png', side: 512, opaque: false, maskable: false },
  { name: 'icon-maskable-512.png', side: 512, opaque: true, maskable: true },
];

type IconFile = (typeof ICON_FILES)[number];

const LARGEST = 512;
/** Pixels of the square that all icons are made from, at most. */
const MAX_BASE = 1024;
/** Radius of the circle of a maskable icon that every system shows (W3C, Web Application Manifest, 1.11.3). */
const SAFE_RADIUS = 0.4;
/** Alpha below which a pixel does not count as part of the picture. */
const VISIBLE = 8;
/** Resolution at which SVG is drawn in its own size, and the highest that libvips takes. */
const SVG_DENSITY = 72;
const MAX_DENSITY = 100_000;

/** Makes the icons of a website from one image. */
export const favicon: ThreadOperation<FaviconOptions> = {
  name: 'favicon',
  async run(input, options) {
    const header = await readHeader(input);
    input.admit(forPixels(MAX_BASE * MAX_BASE, 24, 0.5));
    const background = onWhite(parseColour(options.background));
    const square = await squareOf(input, header);
    const safe = safeScale(square);
    const images: OutputImage[] = [];
    for (const [index, { name, side, opaque, maskable }] of ICON_FILES.entries()) {
      const icon = iconOf(input, square, side, maskable ? safe : 1, opaque ? background : null);
      const bytes = await icon.png({ compressionLevel: 9 }).toBuffer();
      images.push({
        ...{ bytes, format: 'png', width: side, height: side },
        output: { index, nameTemplate: name },
      });
    }
    const entries: IconImage[] = [];
    for (const side of ICO_SIDES) {
      const rgba = await iconOf(input, square, side, 1, null).ensureAlpha().raw().toBuffer();
      entries.push({ side, rgba });
    }
    const data: FaviconData = { ico: writeIco(entries) };
    return { images, data, warnings: [...header.warnings, ...warningsOf(header)] };
  },
};

function warningsOf({ width, height, format }: Header): Warning[] {
  const warnings: Warning[] = [];
  if (Math.max(width, height) < LARGEST && format !== 'svg') {
    const message = `${width}x${height} is less than ${LARGEST}x${LARGEST}: larger icons were enlarged`;
    warnings.push({ code: 'icon_enlarged', message });
  }
  if (width !== height) {
    const message = `${width}x${height} is not square: transparent edges were added`;
    warnings.push({ code: 'icon_padded', message });
  }
  return warnings;
}

/** The picture in the middle of a transparent square. */
async function squareOf(input: ImageInput, header: Header): Promise<IconImage> {
  const { width, height, format } = header;
  const isVector = format === 'svg';
  const side = isVector ? MAX_BASE : Math.min(MAX_BASE, Math.max(width, height));
  const density = Math.min(MAX_DENSITY, (SVG_DENSITY * side) / Math.max(width, height));
  const image = isVector
    ? input.sharp(input.bytes, { limitInputPixels: input.limits.pixels, density })
    : (await openInEightBits(input, header)).autoOrient();
  const rgba = await image
    .toColourspace('srgb')
    .resize({ width: side, height: side, fit: 'contain', background: TRANSPARENT })
    .ensureAlpha()
    .raw()
    .toBuffer();
  return { side, rgba };
}

/** The largest scale, at most 1, at which all visible pixels are in the safe circle. */
function safeScale({ side, rgba }: IconImage): number {
  const centre = (side - 1) / 2;
  let farthest = 0;
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      if (rgba[(y * side + x) * 4 + 3]! < VISIBLE) continue;
      farthest = Math.max(farthest, (x - centre) ** 2 + (y - centre) ** 2);
    }
  }
  return Math.min(1, (SAFE_RADIUS * side) / Math.max(1, Math.sqrt(farthest)));
}

/** @param background null for a transparent icon */
function iconOf(
  { sharp }: ImageInput,
  { side: from, rgba }: IconImage,
  side: number,
  scale: number,
  background: Colour | null,
): Sharp {
  const inner = Math.max(1, Math.floor(side * scale));
  const before = Math.floor((side - inner) / 2);
  const after = side - inner - before;
  const image = sharp(rgba, { raw: { width: from, height: from, channels: 4 } });
  const laid = background ? image.flatten({ background }) : image;
  return laid.resize({ width: inner, height: inner, fit: 'fill' }).extend({
    top: before,
    left: before,
    bottom: after,
    right: after,
    background: background ?? TRANSPARENT,
  });
}

export const ICO = 'favicon.ico';
export const MANIFEST = 'site.webmanifest';
const APPLE = 'apple-touch-icon.png';

/** An icon as a web app manifest lists it. */
function entryOf({ name, side, maskable }: IconFile, baseUrl: string): object {
  return {
    src: urlOf(baseUrl, name),
    sizes: `${side}x${side}`,
    type: 'image/png',
    ...(maskable && { purpose: 'maskable' }),
  };
}

/** The icons as a web app manifest lists them. */
export function iconsOf(baseUrl: string): object[] {
  return ICON_FILES.filter(({ name }) => name !== APPLE).map((icon) => entryOf(icon, baseUrl));
}

export function htmlOf(baseUrl: string, manifest: boolean): string {
  const sizes = ICO_SIDES.map((side) => `${side}x${side}`).join(' ');
  const link = (rel: string, name: string, more: object = {}) =>
    tag('link', { rel, href: urlOf(baseUrl, name), ...more });
  return [
    link('icon', ICO, { sizes }),
    link('icon', 'icon-192.png', { type: 'image/png', sizes: '192x192' }),
    link('apple-touch-icon', APPLE),
    ...(manifest ? [link('manifest', MANIFEST)] : []),
  ].join('\n');
}

export const faviconFields = {
  background: v.optional(colourField('colour behind icons that must be opaque'), 'white'),
  baseUrl: v.optional(baseUrlField(), '/'),
  manifest: withDefault(v.boolean(), false, 'write the icons into site.webmanifest too'),
};

export const faviconSet = defineSet({
  name: favicon.name,
  summary: 'Make the icons of a website, with the HTML that shows them',
  endpoint: 'batch-favicon',
  gives: 'image',
  cost: 15,
  options: v.strictObject(faviconFields),
  set: {
    each: favicon.name,
    maxFiles: 1,
    adds: {},
    async finish({ results: [record], addFile }, { baseUrl, manifest }) {
      const { data, ...rest } = record!;
      if (!data) return {};
      await addFile(ICO, (data as FaviconData).ico);
      const icons = iconsOf(baseUrl);
      const text = `${JSON.stringify({ icons }, null, 2)}\n`;
      if (manifest) await addFile(MANIFEST, Buffer.from(text));
      return { results: [rest], icons, html: htmlOf(baseUrl, manifest) };
    },
  },
});
