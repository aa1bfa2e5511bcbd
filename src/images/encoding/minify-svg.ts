import type { PluginConfig, PresetDefaultOverrides } from 'svgo';
import type { Header } from '../decoding/header.ts';
import { fileFailure } from '../file-error.ts';
import type { ImageInput } from '../input.ts';
import type { MetadataPolicy, Warning } from '../output.ts';

/** Plugins of svgo that remove what is not drawn, in time that grows with the file. */
const LIGHT: readonly PluginConfig[] = [
  ...(['removeDoctype', 'removeXMLProcInst', 'removeComments', 'removeMetadata'] as const),
  ...(['removeEditorsNSData', 'cleanupAttrs', 'removeUnusedNS'] as const),
];

const without = (...names: (keyof PresetDefaultOverrides)[]): PresetDefaultOverrides =>
  Object.fromEntries(names.map((name) => [name, false]));

/** Without plugins that assume valid SVG, or that round curves visibly. */
const CAUTIOUS: PresetDefaultOverrides = {
  ...without('mergePaths', 'removeHiddenElems', 'inlineStyles', 'removeUnknownsAndDefaults'),
  convertPathData: { makeArcs: { threshold: 0, tolerance: 0 } },
};

/** Without plugins that lose what other files refer to: the symbols and views of a sprite, and names of parts. */
const REFERENCES = without('cleanupIds', 'removeHiddenElems', 'removeUselessDefs');

/** The preset takes a minute for 5000 rules of CSS on 5000 elements, and 13 s to merge 5000 paths. */
const [MAX_MATCHES, MAX_MERGED, MAX_ELEMENTS] = [1_000_000, 500, 20_000];
/** Characters up to which plugins run until nothing more is won. */
const MAX_REPEATED = 500_000;

/** Longest side at which drawings are compared, half the size of the picture, and the difference of a level that passes. */
const SIDES = [64, 512] as const;
const MAX_DIFFERENCE = 16;

/** Bytes of memory and microseconds for each byte of a file, beside those of its drawings. */
export const SVG_COST = [150, 10] as const;

/** The size at which the drawings of an image are compared. */
export function drawnSize({ width, height }: Pick<Header, 'width' | 'height'>) {
  const longest = Math.max(width, height);
  const scale = Math.min(SIDES[1], Math.max(SIDES[0], longest / 2)) / longest;
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  return { width: side(width), height: side(height) };
}

/**
 * Minifies an SVG image by svgo: by all of its default plugins, or by fewer where the result would look different.
 * Scripts and handlers of events are removed, because a picture runs none.
 *
 * @returns the bytes of the input where nothing smaller looks the same
 * @throws Failure corrupt_image
 */
export async function minifySvg(input: ImageInput, header: Header, metadata: MetadataPolicy) {
  const { optimize } = await import('svgo');
  const minified = (svg: string, plugins: readonly PluginConfig[], multipass = false) => {
    try {
      return optimize(svg, { plugins: [...plugins], multipass }).data;
    } catch (error) {
      // Plugins also fail on what they do not expect.
      return error as Error;
    }
  };
  const stored = minified(textOf(input.file), []);
  if (typeof stored !== 'string') {
    const reason = 'reason' in stored ? String(stored.reason).split('\n', 1)[0] : stored.message;
    throw fileFailure('corrupt_image', `this SVG image is damaged: ${reason}`, stored);
  }
  const text = String(minified(stored, ['removeScripts']));
  const hasScripts = text !== stored;
  const before = await drawn(input, header, input.file);
  let bytes: Uint8Array = hasScripts ? Buffer.from(text) : new Uint8Array(input.file);
  for (const plugins of attemptsOf(text, metadata === 'all' || metadata === 'copyright')) {
    const svg = minified(text, plugins, text.length <= MAX_REPEATED);
    const attempt = Buffer.from(typeof svg === 'string' ? svg : text);
    if (attempt.length >= bytes.length) continue;
    if (!looksSame(before, await drawn(input, header, attempt))) continue;
    bytes = attempt;
    break;
  }
  const message = 'scripts, handlers of events and links that run scripts were removed';
  const warnings: Warning[] = hasScripts ? [{ code: 'scripts_removed', message }] : [];
  return { bytes, warnings };
}

/** Lists of plugins to try, the most effective first. */
function attemptsOf(text: string, keepsMetadata: boolean): (readonly PluginConfig[])[] {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const elements = count(/<\w/g);
  const light = keepsMetadata ? LIGHT.filter((name) => name !== 'removeMetadata') : LIGHT;
  const isHeavy = elements > MAX_ELEMENTS || count(/\{/g) * elements > MAX_MATCHES;
  // A drawing shows one moment of an animation.
  if (isHeavy || /<(?:animate|set\b)|@keyframes/.test(text)) return [light];
  const preset = (others: PresetDefaultOverrides): PluginConfig => {
    const overrides: PresetDefaultOverrides = {
      // libvips draws a point as a pixel.
      cleanupNumericValues: { convertToPx: false },
      ...(keepsMetadata && { removeMetadata: false }),
      ...(/<(?:symbol|view)\b/.test(text) && REFERENCES),
      ...(elements > MAX_MERGED && { mergePaths: false }),
      ...others,
    };
    return { name: 'preset-default', params: { overrides } };
  };
  return [[preset({})], [preset(CAUTIOUS)], light];
}

/** The text of a file in the encoding that it declares. @throws Failure corrupt_image */
function textOf(file: Uint8Array): string {
  const head = Buffer.from(file.subarray(0, 200)).toString('latin1');
  const [, encoding = 'utf-8'] = /<\?xml[^>]*?\sencoding\s*=\s*["']([\w-]+)/.exec(head) ?? [];
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(file);
  } catch (error) {
    const message = `this SVG image is damaged: its text is not ${encoding}`;
    throw fileFailure('corrupt_image', message, error);
  }
}

/** Pixels of a drawing, and the size that the image asks for; null where it cannot be drawn. */
async function drawn({ sharp }: ImageInput, header: Header, svg: Uint8Array) {
  const options = { limitInputPixels: false };
  try {
    const { width, height } = await sharp(svg, options).metadata();
    const drawing = sharp(svg, options).resize({ ...drawnSize(header), fit: 'fill' });
    return { width, height, rgba: await drawing.ensureAlpha().raw().toBuffer() };
  } catch {
    return null;
  }
}

type Drawing = Awaited<ReturnType<typeof drawn>>;

/** Whether no pixel of a drawing differs visibly. Colours count as much as they are opaque. */
function looksSame(one: Drawing, other: Drawing): boolean {
  if (!one || !other || one.width !== other.width || one.height !== other.height) return false;
  const weighed = (rgba: Buffer, at: number) =>
    (at & 3) === 3 ? rgba[at]! : (rgba[at]! * rgba[at | 3]!) / 255;
  return one.rgba.every(
    (_, at) => Math.abs(weighed(one.rgba, at) - weighed(other.rgba, at)) <= MAX_DIFFERENCE,
  );
}
