import * as v from 'valibot';
import { colourField } from '../../images/colour.ts';
import { encodingFields, formatField } from '../../images/encoding/options.ts';
import { FORMATS, OUTPUT_FORMATS, type OutputFormat } from '../../images/formats.ts';
import { fontField } from '../../images/layers/fonts.ts';
import { MAX_THRESHOLD } from '../../images/similarity/similar.ts';
import { placeholderFault } from '../../operations/definition/name-template.ts';
import { field, integer, number } from '../../schema/fields.ts';
import { flag, textField, textFlag } from '../command/command.ts';

/** How images are compared. */
export const compareFlags = v.strictObject({
  minSsim: v.optional(field(number(0, 1), 'exit with 1 if the SSIM of an image is lower')),
  minPsnr: v.optional(
    field(number(0, 1000), 'exit with 1 if the PSNR of an image, in decibels, is lower'),
  ),
  resize: flag('scale images to the size of the reference, instead of failing on another size'),
  fullSize: flag(
    'measure SSIM at full size, instead of reducing the shorter side to about 256 pixels',
  ),
  diff: textFlag('write an image of the differences', 'a PNG file, or a folder for several', {
    path: true,
  }),
  overwrite: flag('replace images of differences that exist'),
});

/** Inputs of a command over two folders. */
export const recursiveFlags = v.strictObject({
  recursive: flag('compare the images in two folders', { short: 'r' }),
});

/** How contact sheets look. */
export const montageFlags = v.strictObject({
  out: textField(
    'file of the sheet; {index} numbers several sheets',
    'a file ending in .jpg, .png, .webp, .avif, .gif or .tiff',
    { short: 'o', path: true },
  ),
  columns: v.optional(field(integer(1, 1000), 'cells in a row'), 4),
  rows: v.optional(
    field(integer(1, 1000), 'rows of a sheet; default as many as --max-side allows'),
  ),
  cell: v.optional(
    field(v.pipe(v.string(), v.regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/)), 'size of a cell in pixels', {
      expects: 'WIDTHxHEIGHT such as 300x200',
    }),
    '300x300',
  ),
  fit: v.optional(
    field(
      v.picklist(['contain', 'cover']),
      'whether images fit into cells, or fill and are cropped',
    ),
    'contain',
  ),
  gap: v.optional(field(integer(0, 1000), 'pixels between and around cells'), 10),
  label: v.optional(
    field(
      v.pipe(
        v.string(),
        v.nonEmpty(),
        v.maxLength(100),
        v.check((text) => placeholderFault(text, ['name', 'index']) === null),
        v.check((text) => !/\p{Cc}/u.test(text)),
      ),
      'text below each image',
      { expects: 'a text of at most 100 characters with {name} and {index}' },
    ),
  ),
  labelSize: v.optional(field(integer(4, 200), 'height of the letters of labels in pixels'), 14),
  labelColor: v.optional(colourField('colour of labels'), 'black'),
  font: v.optional(fontField('installed font of labels; default sans-serif')),
  sort: v.optional(
    field(v.picklist(['name', 'given']), 'order of images: by name (2 before 10), or as given'),
    'name',
  ),
  background: v.optional(colourField('colour of the sheet'), 'white'),
  format: v.optional(formatField('output format; default that of --out')),
  quality: encodingFields.quality,
  lossless: encodingFields.lossless,
  effort: encodingFields.effort,
  progressive: encodingFields.progressive,
  overwrite: flag('replace sheets that exist'),
});

export const formatsFlags = v.strictObject({ json: flag('print the list as JSON') });

/** How duplicates are found. */
export const duplicatesFlags = v.strictObject({
  perceptual: v.optional(
    field(
      v.picklist(['phash', 'dhash', 'none']),
      'hash that finds similar pictures; none finds only equal bytes, in files of any kind',
    ),
    'phash',
  ),
  threshold: v.optional(
    field(
      integer(0, MAX_THRESHOLD),
      'largest difference between hashes of similar pictures, in bits of 64',
    ),
    6,
  ),
  exitCode: flag('exit with 1 if duplicates were found'),
});

/** The field of a URL to which names of files are added. */
const baseUrlField = () =>
  field(
    v.pipe(v.string(), v.maxLength(1000), v.regex(/^[^\s?#"'<>\p{Cc}]*$/u)),
    'URL of the folder of outputs',
    { expects: 'a URL or a path such as /img/' },
  );

/** Options of `oriel favicon`. */
export const faviconOptions = v.strictObject({
  out: v.optional(textField('folder for the icons', 'a folder', { short: 'o', path: true }), '.'),
  background: v.optional(colourField('colour behind icons that must be opaque'), 'white'),
  baseUrl: v.optional(baseUrlField(), '/'),
  manifest: flag('write the icons into site.webmanifest too'),
  overwrite: flag('replace files that exist; a manifest keeps its other members'),
  json: flag('print the files, the icons of the manifest and the HTML as JSON'),
  quiet: flag('print no HTML', { short: 'q' }),
});

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

/** Options of `oriel srcset`. */
export const srcsetOptions = v.strictObject({
  widths: v.optional(
    listField(
      widthsOf,
      "pixels; wider than the image gives the image's width",
      `at most ${MAX_WIDTHS} numbers with commas between them`,
    ),
    '400,800,1600',
  ),
  formats: v.optional(
    listField(
      formatsOf,
      'formats; the last one is for browsers that know none of the others',
      'some of avif, webp, jpeg, png, gif with commas between them',
    ),
    'avif,webp,jpeg',
  ),
  ...encodingFields,
  sizes: v.optional(
    text('width of the image on the page', 'a value of the attribute sizes'),
    '100vw',
  ),
  baseUrl: v.optional(baseUrlField()),
  alt: v.optional(text('alternative text; empty for decorative images', 'a text')),
  loading: v.optional(
    field(
      v.picklist(['lazy', 'eager']),
      'when browsers load the image; eager for images that are seen first',
    ),
    'lazy',
  ),
  snippet: v.optional(field(v.picklist(['html', 'json', 'none']), 'what to print'), 'html'),
  snippetOut: textFlag('write the snippets to this file, and print the report', 'a file', {
    path: true,
  }),
});
