import * as v from 'valibot';
import { field } from '../../schema/fields.ts';

/** Letters and digits of any script, and the punctuation that names of fonts have. */
const FONT = /^[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N} ,.'&()_-]*$/u;

/** A field for names of fonts, to be parsed by `parseFont`. */
export const fontField = (description: string) =>
  field(v.pipe(v.string(), v.maxLength(200), v.regex(FONT)), description, {
    expects: 'the name of a font such as "DejaVu Sans Bold" or "Inter, sans-serif"',
  });
