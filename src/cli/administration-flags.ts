import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { storeFlags } from './store-flags.ts';

/** Which store it is about, and how the result is printed. */
export const administrationFlags = v.strictObject({
  ...storeFlags,
  json: v.optional(field(v.boolean(), 'print the result as JSON'), false),
});
