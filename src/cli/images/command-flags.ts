import * as v from 'valibot';
import { colourField } from '../../images/colour.ts';
import { encodingFields, formatField } from '../../images/encoding/options.ts';
import { fontField } from '../../images/layers/fonts.ts';
import { MAX_THRESHOLD } from '../../images/similarity/similar.ts';
import { placeholderFault } from '../../operations/definition/name-template.ts';
import { field, integer, number } from '../../schema/fields.ts';
import { flag, textField, textFlag } from '../command/flags.ts';
import { baseUrlField } from './html.ts';

/** How images are compared. */
export const compareFlags = v.strictObject({
  minSsim: v.optional(field(number(0, 1), 'exit with 1 where the SSIM of an image is lower')),
  minPsnr: v.optional(
    field(number(0, 1000), 'exit with 1 where the PSNR of an image, in decibels, is lower'),
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
    'where the sheet goes; {index} numbers several',
    'a file ending in .jpg, .png, .webp, .avif, .gif or .tiff',
    { short: 'o', path: true },
  ),
  columns: v.optional(field(integer(1, 1000), 'cells in a row'), 4),
  rows: v.optional(
    field(integer(1, 1000), 'rows of a sheet; as many as --max-side allows where not given'),
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
      'whether images fit into cells, or fill them and are cut',
    ),
    'contain',
  ),
  gap: v.optional(field(integer(0, 1000), 'pixels between cells and around them'), 10),
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
  font: v.optional(fontField('installed font of labels; sans-serif where not given')),
  sort: v.optional(
    field(v.picklist(['name', 'given']), 'the order of images: by name, 2 before 10, or as given'),
    'name',
  ),
  background: v.optional(colourField('colour of the sheet'), 'white'),
  format: v.optional(formatField('output format; that of --out where not given')),
  quality: encodingFields.quality,
  lossless: encodingFields.lossless,
  effort: encodingFields.effort,
  progressive: encodingFields.progressive,
  overwrite: flag('replace sheets that exist'),
});

/** How duplicates are found. */
export const duplicatesFlags = v.strictObject({
  perceptual: v.optional(
    field(
      v.picklist(['phash', 'dhash', 'none']),
      'the hash that finds alike pictures; none finds equal bytes only, in files of any kind',
    ),
    'phash',
  ),
  threshold: v.optional(
    field(integer(0, MAX_THRESHOLD), 'bits of 64 by which the hashes of alike pictures may differ'),
    6,
  ),
  exitCode: flag('exit with 1 where duplicates were found'),
});

/** Options of `oriel favicon`. */
export const faviconOptions = v.strictObject({
  out: v.optional(textField('where the icons go', 'a folder', { short: 'o', path: true }), '.'),
  background: v.optional(colourField('colour behind icons that must be opaque'), 'white'),
  baseUrl: v.optional(baseUrlField(), '/'),
  manifest: flag('write the icons into site.webmanifest too'),
  overwrite: flag('replace files that exist; a manifest keeps its other members'),
  json: flag('print the files, the icons of the manifest and the HTML as JSON'),
  quiet: flag('print no HTML', { short: 'q' }),
});
