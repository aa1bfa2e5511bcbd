import * as v from 'valibot';
import { formatField } from '../../images/encoding/options.ts';
import { srcsetFields } from '../../operations/recipe/srcset.ts';
import { compareFields } from '../../operations/tools/compare.ts';
import { duplicatesFields } from '../../operations/tools/duplicates.ts';
import { faviconFields } from '../../operations/tools/favicon.ts';
import { montageFields } from '../../operations/tools/montage.ts';
import { integer, optional, withDefault } from '../../schema/fields.ts';
import { flag, textField, textFlag } from '../command/command.ts';

/** How images are compared. */
export const compareFlags = v.strictObject({
  ...compareFields,
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
  rows: optional(integer(1, 1000), 'rows of a sheet; default as many as --max-side allows'),
  sort: withDefault(
    v.picklist(['name', 'given']),
    'name',
    'order of images: by name (2 before 10), or as given',
  ),
  ...montageFields,
  format: v.optional(formatField('output format; default that of --out')),
  overwrite: flag('replace sheets that exist'),
});

export const formatsFlags = v.strictObject({ json: flag('print the list as JSON') });

/** How duplicates are found. */
export const duplicatesFlags = v.strictObject({
  ...duplicatesFields,
  exitCode: flag('exit with 1 if duplicates were found'),
});

/** Options of `oriel favicon`. */
export const faviconOptions = v.strictObject({
  out: v.optional(textField('folder for the icons', 'a folder', { short: 'o', path: true }), '.'),
  ...faviconFields,
  overwrite: flag('replace files that exist; a manifest keeps its other members'),
  json: flag('print the files, the icons of the manifest and the HTML as JSON'),
  quiet: flag('print no HTML', { short: 'q' }),
});

/** Options of `oriel srcset`. */
export const srcsetOptions = v.strictObject({
  ...srcsetFields,
  snippet: withDefault(v.picklist(['html', 'json', 'none']), 'html', 'what to print'),
  snippetOut: textFlag('write the snippets to this file, and print the report', 'a file', {
    path: true,
  }),
});
