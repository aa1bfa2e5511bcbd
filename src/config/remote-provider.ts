import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { httpUrl } from './text.ts';

export const concurrency = v.optional(
  field(integer(1, 10_000), 'Media tasks that run on it at once.'),
  8,
);

/** Settings of a provider on the network. */
export const remote = {
  baseUrl: field(httpUrl(), 'Base URL of its interface, /v1 included.', {
    secret: 'interpolated',
  }),
  shared: v.optional(
    field(
      v.boolean(),
      'Whether its account serves several clients (the default), which may then not name what is stored ' +
        'there: files, conversations, responses of others. false if all keys here belong to its owner.',
    ),
  ),
  concurrency,
  apiKey: v.optional(
    field(
      v.pipe(v.string(), v.regex(/^[\x21-\x7e]*$/)),
      'Its key; leave it out if it requires none.',
      {
        secret: 'always',
        expects: 'printable ASCII characters without spaces',
      },
    ),
  ),
};
