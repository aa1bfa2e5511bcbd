import * as v from 'valibot';
import { field } from '../schema/fields.ts';

const path = (description: string, expects: string) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty()), description, { expects, path: true }));

/** Where a daemon, or a command in its place, finds what it works with. */
export const storeFlags = {
  config: path('configuration; oriel.yaml where there is one', 'a file'),
  data: path('folder that holds everything Oriel remembers', 'a folder'),
};
