import * as v from 'valibot';
import { colourField } from '../../images/colour.ts';
import { field } from '../../schema/fields.ts';
import { baseUrlField } from './html.ts';

const flag = (description: string, short?: string) =>
  v.optional(field(v.boolean(), description, short ? { short } : {}), false);

/** Options of `oriel favicon`. */
export const faviconOptions = v.strictObject({
  out: v.optional(
    field(v.pipe(v.string(), v.nonEmpty()), 'where the icons go', {
      expects: 'a folder',
      short: 'o',
      path: true,
    }),
    '.',
  ),
  background: v.optional(colourField('colour behind icons that must be opaque'), 'white'),
  baseUrl: v.optional(baseUrlField(), '/'),
  manifest: flag('write the icons into site.webmanifest too'),
  overwrite: flag('replace files that exist; a manifest keeps its other members'),
  json: flag('print the files, the icons of the manifest and the HTML as JSON'),
  quiet: flag('print no HTML', 'q'),
});
