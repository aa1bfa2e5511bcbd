import * as v from 'valibot';
import { withDefault } from '../../schema/fields.ts';
import { duration, size } from '../fields/units.ts';

export const requests = v.strictObject({
  retention: withDefault(
    duration('1h', '3650d'),
    '30d',
    'How long requests are kept; up to a day longer in a data folder.',
  ),
  maxSize: withDefault(
    size('1MB', '1000TB'),
    '2GB',
    'Size of the log in a data folder. The oldest requests are deleted first; bodies before other data.',
  ),
});
