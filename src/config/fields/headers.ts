import * as v from 'valibot';
import { field } from '../../schema/fields.ts';
import { words } from '../../words.ts';

const MAX_HEADERS = 32;
export const MAX_VALUE_LENGTH = 4096;

/** Headers that Oriel sets itself, and that end at the next hop (RFC 9110, 7.6.1). */
export const TRANSPORT_HEADERS =
  words(`accept-encoding content-length content-type expect host connection keep-alive proxy-authenticate
   proxy-connection te trailer transfer-encoding upgrade`);

/**
 * Headers of requests to another server, loaded with lower-case names.
 *
 * @param reserved names that cannot be set
 * @param secret which values are not printed
 */
export function headerMap(reserved: readonly string[], secret: 'always' | 'interpolated') {
  const name = v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/),
    v.check((given) => !reserved.includes(given.toLowerCase())),
    v.metadata({ expects: `a header other than ${reserved.join(', ')}` }),
  );
  const value = field(
    v.pipe(
      v.string(),
      v.regex(new RegExp(`^(?:[!-~](?:[ -~]{0,${MAX_VALUE_LENGTH - 2}}[!-~])?)?$`)),
    ),
    'Value of the header.',
    {
      secret,
      expects: `printable ASCII characters, ${MAX_VALUE_LENGTH} at most, without spaces around them`,
    },
  );
  return v.pipe(
    v.record(name, value),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const names = Object.keys(dataset.value);
      if (names.length > MAX_HEADERS) {
        addIssue({ message: `expected at most ${MAX_HEADERS} headers` });
      }
      const twice = names.find((one, index) =>
        names.some((other, at) => at < index && other.toLowerCase() === one.toLowerCase()),
      );
      if (twice !== undefined) {
        addIssue({
          message: `${twice}: set twice; names of headers differ in more than their case`,
        });
      }
    }),
    v.transform((given) =>
      Object.fromEntries(Object.entries(given).map(([one, text]) => [one.toLowerCase(), text])),
    ),
  );
}
