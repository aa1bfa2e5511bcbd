import * as v from 'valibot';
import { integer, optional, withDefault } from '../../schema/fields.ts';
import { duration } from '../fields/units.ts';

/** The backups that the daemon makes. */
export const backup = v.strictObject({
  to: optional(
    v.pipe(
      v.string(),
      v.nonEmpty(),
      v.maxLength(1000),
      v.check((to) => !to.endsWith('.tar')),
      v.check(
        (to) =>
          !to.startsWith('s3://') ||
          /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w./-]*)?$/.test(to),
      ),
    ),
    'Folder of backups, relative to the file that sets it, or s3://BUCKET/PREFIX with the endpoint and the ' +
      'credentials of assets. Unset: the daemon makes no backups.',
    { expects: 'a folder, or s3://BUCKET/PREFIX', example: '/var/backups/oriel' },
  ),
  every: withDefault(
    duration('1s', '24d'),
    '6h',
    'Time between two backups. It continues over a restart. One that failed is tried again after five minutes at most.',
  ),
  keep: withDefault(
    integer(1, 10_000),
    14,
    'Backups to keep. Older ones are removed once a new one is whole.',
  ),
});
