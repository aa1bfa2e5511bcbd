import { relative } from 'node:path';
import * as v from 'valibot';
import { encodingFields } from '../../images/encoding/options.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from '../../images/formats.ts';
import { field, withDefault } from '../../schema/fields.ts';
import type { FileRecord, OutputRecord } from '../batch/batch-record.ts';
import { defineSet } from '../batch/set.ts';
import { baseUrlField, tag, urlOf } from '../tools/html.ts';
import type { Recipe } from './recipe.ts';
import { run } from './run.ts';

/** Most widths, and characters of texts that every snippet repeats. */
const MAX_WIDTHS = 16;
const MAX_TEXT = 1000;

const list = (text: string) => text.split(',').map((item) => item.trim());

/** The widths of a list; null where it is none. */
function widthsOf(text: string): number[] | null {
  const widths = list(text).map((item) => (/^\d{1,5}$/.test(item) ? Number(item) : 0));
  const valid =
    widths.length <= MAX_WIDTHS && widths.every((width) => width > 0 && width <= 65_535);
  return valid ? [...new Set(widths)] : null;
}

/** The formats of a list; null where it is none. TIFF is shown by no common browser. */
function formatsOf(text: string): OutputFormat[] | null {
  const formats = list(text).map((name) =>
    OUTPUT_FORMATS.find((format) => format !== 'tiff' && FORMATS[format].extensions.includes(name)),
  );
  return formats.includes(undefined) ? null : [...new Set(formats as OutputFormat[])];
}

const text = (description: string, expects: string) =>
  field(v.pipe(v.string(), v.maxLength(MAX_TEXT)), description, { expects });

/** A text that is a list. @param read gives null for a text that is none */
const listField = (read: (text: string) => object | null, description: string, expects: string) =>
  field(
    v.pipe(
      v.string(),
      v.check((given) => read(given) !== null),
    ),
    description,
    { expects },
  );

export const srcsetFields = {
  widths: v.optional(
    listField(
      widthsOf,
      "pixels; wider than the image gives the image's width",
      `at most ${MAX_WIDTHS} numbers, separated by commas`,
    ),
    '400,800,1600',
  ),
  formats: v.optional(
    listField(
      formatsOf,
      'formats; the last one is for browsers that know none of the others',
      'one or more of avif, webp, jpeg, png, gif, separated by commas',
    ),
    'avif,webp,jpeg',
  ),
  ...encodingFields,
  sizes: v.optional(text('width of the image on the page', 'a value of sizes'), '100vw'),
  baseUrl: v.optional(baseUrlField()),
  alt: v.optional(text('alternative text; empty for decorative images', 'a text')),
  loading: withDefault(v.picklist(['lazy', 'eager']), 'lazy', 'eager for images seen first'),
};

type SrcsetOptions = v.InferOutput<v.StrictObjectSchema<typeof srcsetFields, undefined>>;

/** The operation `run` with the recipe that the options stand for. */
export const srcset = defineSet({
  name: 'srcset',
  summary: 'Make responsive images, with the HTML that shows them',
  endpoint: 'batch-srcset',
  gives: 'image',
  several: true,
  cost: run.cost,
  details: () => ['outputs'],
  options: v.strictObject(srcsetFields),
  async prepare(given, { planOnly = false } = {}): Promise<Recipe> {
    const encoding = Object.fromEntries(
      Object.keys(encodingFields).map((name) => [name, given[name as keyof SrcsetOptions]]),
    ) as Recipe['outputs'][number]['encoding'];
    const widths = widthsOf(given.widths)!;
    const formats = formatsOf(given.formats)!;
    const name = '{name}-{width}w.{ext}';
    return { steps: [], outputs: [{ name, steps: [], widths, formats, encoding }], planOnly };
  },
  set: {
    each: run.name,
    adds: {},
    finish: async ({ results }, options) => ({
      results: results.map((record) => ({
        ...record,
        ...(record.outputs && { data: { ...snippetOf(record, undefined, options) } }),
      })),
    }),
  },
});

/**
 * The snippet of an image; null if it has no outputs, or they have no names yet.
 *
 * @param folder folder to which URLs are relative; undefined for outputs in an archive
 */
export function snippetOf(
  { outputs = [] }: FileRecord,
  folder: string | undefined,
  { baseUrl = '', sizes, alt = '', loading }: SrcsetOptions,
) {
  const candidateOf = ({ outputFilename = '', width, height, size }: OutputRecord) => {
    const path = folder === undefined ? outputFilename : relative(folder, outputFilename);
    return { url: urlOf(baseUrl, path), width, height, size };
  };
  if (outputs.some(({ outputFilename }) => outputFilename === undefined)) return null;
  // By the order of the formats; the last is that of `img`.
  const sources = [...new Set(outputs.map(({ format }) => format))].map((format) => {
    const images = outputs.filter((output) => output.format === format).map(candidateOf);
    const sorted = images.sort((one, other) => one.width - other.width);
    const srcset = sorted.map(({ url, width }) => `${url} ${width}w`).join(', ');
    return { type: FORMATS[format as OutputFormat].mediaType, srcset, images: sorted };
  });
  const fallback = sources.at(-1);
  if (!fallback) return null;
  const { srcset } = fallback;
  const { url: src, width, height } = fallback.images.at(-1)!;
  // `sizes` comes before `srcset`, or some browsers begin with the candidate for 100vw.
  const attributes = { sizes, srcset, src, width, height, alt, loading, decoding: 'async' };
  const img = tag('img', attributes);
  const others = sources
    .slice(0, -1)
    .map((source) => tag('source', { type: source.type, sizes, srcset: source.srcset }));
  const lines = [...others, img].map((line) => `  ${line}`);
  const html = others.length === 0 ? img : ['<picture>', ...lines, '</picture>'].join('\n');
  return { html, sources, src, sizes, width, height, alt };
}
