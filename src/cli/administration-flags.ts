import * as v from 'valibot';
import { field } from '../schema.ts';

/** Which store it is about, and how the result is printed. */
export const administrationFlags = v.strictObject({
  config: v.optional(
    field(v.pipe(v.string(), v.nonEmpty()), 'configuration; oriel.yaml where there is one', {
      expects: 'a file',
      path: true,
    }),
  ),
  data: v.optional(
    field(v.pipe(v.string(), v.nonEmpty()), 'folder that holds everything Oriel remembers', {
      expects: 'a folder',
      path: true,
    }),
  ),
  json: v.optional(field(v.boolean(), 'print the result as JSON'), false),
});
