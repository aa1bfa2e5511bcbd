import { createRequire } from 'node:module';
import * as v from 'valibot';
import { field } from '../../schema/fields.ts';
import { escapeXml } from '../../schema/xml.ts';
import { readRaw, type Samples } from '../decoding/pixels.ts';
import { fileFailure } from '../file-error.ts';
import type { SharpFactory } from '../input.ts';

/** Families that fontconfig maps to installed ones. */
const GENERIC = ['sans', 'sans-serif', 'serif', 'monospace', 'mono', 'system-ui', 'cursive'];

const DEFAULT_FAMILY = 'sans-serif';

/** Words at the end of a font's name that choose a face of the family (Pango's font descriptions). */
const STYLES = new Set([
  ...['thin', 'ultra-light', 'extra-light', 'light', 'semi-light', 'book', 'regular', 'medium'],
  ...['semi-bold', 'demi-bold', 'bold', 'ultra-bold', 'extra-bold', 'black', 'heavy'],
  ...['italic', 'oblique', 'condensed', 'semi-condensed', 'expanded', 'semi-expanded'],
]);

/** A font in the parts of a Pango description. */
export interface Font {
  readonly families: readonly string[];
  readonly style: string;
}

/** Parses a list of families, the last of which a style may follow: `Inter, DejaVu Sans Bold`. */
export function parseFont(text: string = DEFAULT_FAMILY): Font {
  const families = text
    .split(',')
    .map((family) => family.trim())
    .filter(Boolean);
  const words = (families.pop() ?? DEFAULT_FAMILY).split(/\s+/);
  let end = words.length;
  while (end > 1 && STYLES.has(words[end - 1]!.toLowerCase())) end -= 1;
  return {
    families: [...families, words.slice(0, end).join(' ')],
    style: words.slice(end).join(' '),
  };
}

/** Pango's description. The comma after the families keeps a number in their names from being the size. */
export function describeFont({ families, style }: Font, pixels: number): string {
  return `${families.join(',')}, ${style} ${Number(pixels.toFixed(2))}px`;
}

/** A font whose only glyph, of U+10FFFD, is four times as wide as high (.ci/probe-font.mjs). */
const PROBE = 'Oriel Probe';
const PROBE_CHARACTER = '\u{10fffd}';
const PIXELS = 20;

const probeFile = () => createRequire(import.meta.url).resolve('#config/fonts/probe.ttf');

/** The shape of a markup, one byte for each pixel. */
function draw(sharp: SharpFactory, font: string, markup: string): Promise<Samples> {
  const text = { text: markup, font, fontfile: probeFile() };
  return readRaw(sharp({ text }).extractChannel(0).raw());
}

/** Results of fontconfig's searches: it does not see fonts that are installed while a process runs. */
const isInstalled = new Map<string, boolean>();

/**
 * Whether fontconfig finds a family. Pango silently takes another where it does not; with the probe font as
 * the next choice, that is the other, and seen by its width.
 */
async function hasFamily(sharp: SharpFactory, family: string): Promise<boolean> {
  const known = isInstalled.get(family);
  if (known !== undefined) return known;
  const font = describeFont({ families: [family, PROBE], style: '' }, PIXELS);
  const markup = `<span fallback="false">${PROBE_CHARACTER}</span>`;
  const { width, height } = await draw(sharp, font, markup);
  const found = width < height * 3;
  if (isInstalled.size < 1000) isInstalled.set(family, found);
  return found;
}

/**
 * Checks that a font is installed: one of its families, of which generic ones stand for any font.
 *
 * @throws Failure font_not_found
 */
export async function checkFont(sharp: SharpFactory, { families }: Font): Promise<void> {
  for (const family of families) {
    if (GENERIC.includes(family.toLowerCase())) {
      const missing = await missingCharacters(sharp, { families: [family], style: '' }, 'o');
      if (missing.length === 0) return;
      const message =
        'no font is installed on this machine; install one, such as the Debian package fonts-dejavu-core';
      throw fileFailure('font_not_found', message);
    }
    if (await hasFamily(sharp, family)) return;
  }
  const names = families.join(', ');
  throw fileFailure(
    'font_not_found',
    `the font ${names} is not installed; fc-list shows the installed ones, and "${names}, sans-serif" takes any font instead`,
  );
}

/** Whether installed fonts have a character, by font and character. */
const hasGlyph = new Map<string, boolean>();
const MAX_GLYPHS = 10_000;

/** Characters that no script will use: Pango draws them as a box with the digits of their numbers. */
const UNASSIGNED = { four: '\u0378', six: '\u{1ff80}' } as const;

/** The visible characters of a text that Pango would draw as boxes with hexadecimal digits. */
export async function missingCharacters(
  sharp: SharpFactory,
  font: Font,
  text: string,
): Promise<string[]> {
  const description = describeFont(font, PIXELS);
  const missing: string[] = [];
  const boxes = new Map<string, Samples>();
  for (const character of new Set(text)) {
    // Blanks, marks and format characters draw nothing by themselves.
    if (/[\s\p{M}\p{Cc}\p{Cf}]/u.test(character)) continue;
    const key = `${description}\0${character}`;
    let has = hasGlyph.get(key);
    if (has === undefined) {
      const reference = character.length > 1 ? UNASSIGNED.six : UNASSIGNED.four;
      const box = boxes.get(reference) ?? (await draw(sharp, description, reference));
      boxes.set(reference, box);
      has = !hasFrameOf(await draw(sharp, description, escapeXml(character)), box);
      if (hasGlyph.size >= MAX_GLYPHS) hasGlyph.clear();
      hasGlyph.set(key, has);
    }
    if (!has) missing.push(character);
  }
  return missing;
}

/** Whether two rasters have the same size and the same outermost pixels, as two boxes have. */
function hasFrameOf(one: Samples, other: Samples): boolean {
  const { width, height } = one;
  if (width !== other.width || height !== other.height) return false;
  for (let y = 0; y < height; y += 1) {
    const step = y === 0 || y === height - 1 ? 1 : Math.max(1, width - 1);
    for (let x = 0; x < width; x += step) {
      if (one.data[y * width + x] !== other.data[y * width + x]) return false;
    }
  }
  return true;
}

/** Letters and digits of any script, and the punctuation that names of fonts have. */
const FONT = /^[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N} ,.'&()_-]*$/u;

/** A field for names of fonts, to be parsed by `parseFont`. */
export const fontField = (description: string) =>
  field(v.pipe(v.string(), v.maxLength(200), v.regex(FONT)), description, {
    expects: 'the name of a font such as "DejaVu Sans Bold" or "Inter, sans-serif"',
  });
