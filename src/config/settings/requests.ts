import * as v from 'valibot';
import { valueOr } from '../../flow.ts';
import { withDefault } from '../../schema/fields.ts';
import { KEPT_BODIES } from '../../store/account.ts';
import { duration, size } from '../fields/units.ts';

const pattern = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.maxLength(1000),
  v.check((text) => valueOr(() => new RegExp(text, 'g').source !== '', false)),
  v.metadata({ expects: 'a regular expression of 1000 characters at most' }),
);

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
  bodies: withDefault(
    v.picklist(KEPT_BODIES),
    'off',
    'Of which requests the bodies and answers are kept: off, errors, or all. A model (requestBodies), an account ' +
      '(oriel accounts set-bodies) and a key (oriel keys create --bodies) can have another setting.',
  ),
  bodyRetention: withDefault(duration('1h', '3650d'), '7d', 'How long bodies are kept.'),
  maxBody: withDefault(
    size('1KB', '1MB'),
    '64KB',
    'Longest body that is kept, in characters. Longer ones are cut.',
  ),
  redact: withDefault(
    v.pipe(v.array(pattern), v.maxLength(50)),
    [],
    'Regular expressions for texts to remove from bodies, beside keys, tokens and passwords. Bodies for which they ' +
      'take longer than 250 ms are not kept.',
    { expects: 'a list of 50 regular expressions at most' },
  ),
  redactEmails: withDefault(
    v.boolean(),
    false,
    'Whether e-mail addresses are removed from bodies.',
  ),
});
