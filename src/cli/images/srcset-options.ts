import * as v from 'valibot';
import { encodingFields } from '../../images/encoding/options.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from '../../images/formats.ts';
import { field } from '../../schema/fields.ts';
import { textFlag } from '../command/flags.ts';
import { baseUrlField } from './html.ts';

/** Most widths, and characters of texts that every snippet repeats. */
const MAX_WIDTHS = 16;
const MAX_TEXT = 1000;

const list = (text: string) => text.split(',').map((item) => item.trim());

/** The widths of a list; null where it is none. */
export function widthsOf(text: string): number[] | null {
  const widths = list(text).map((item) => (/^\d{1,5}$/.test(item) ? Number(item) : 0));
  const valid =
    widths.length <= MAX_WIDTHS && widths.every((width) => width > 0 && width <= 65_535);
  return valid ? [...new Set(widths)] : null;
}

/** The formats of a list; null where it is none. TIFF is shown by no common browser. */
export function formatsOf(text: string): OutputFormat[] | null {
  const formats = list(text).map((name) =>
    OUTPUT_FORMATS.find((format) => format !== 'tiff' && FORMATS[format].extensions.includes(name)),
  );
  return formats.includes(undefined) ? null : [...new Set(formats as OutputFormat[])];
}

const text = (description: string, expects: string) =>
  field(v.pipe(v.string(), v.maxLength(MAX_TEXT)), description, { expects });

/** Options of `oriel srcset`. */
export const srcsetOptions = v.strictObject({
  widths: v.optional(
    field(
      v.pipe(
        v.string(),
        v.check((given) => widthsOf(given) !== null),
      ),
      'pixels, at most those of the image',
      {
        expects: `at most ${MAX_WIDTHS} numbers with commas between them`,
      },
    ),
    '400,800,1600',
  ),
  formats: v.optional(
    field(
      v.pipe(
        v.string(),
        v.check((given) => formatsOf(given) !== null),
      ),
      'formats, the last for browsers that know none of the others',
      { expects: 'some of avif, webp, jpeg, png, gif with commas between them' },
    ),
    'avif,webp,jpeg',
  ),
  ...encodingFields,
  sizes: v.optional(
    text('width of the image on the page', 'a value of the attribute sizes'),
    '100vw',
  ),
  baseUrl: v.optional(baseUrlField()),
  alt: v.optional(text('alternative text; empty for decoration', 'a text')),
  loading: v.optional(
    field(v.picklist(['lazy', 'eager']), 'when browsers load it; eager for what is seen first'),
    'lazy',
  ),
  snippet: v.optional(field(v.picklist(['html', 'json', 'none']), 'what is printed'), 'html'),
  snippetOut: textFlag('write the snippets there, and print the report', 'a file', { path: true }),
});
