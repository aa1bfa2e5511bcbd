import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { duration } from './units.ts';

/** An origin as browsers send it; pages of desktop applications and extensions have schemes of their own. */
function isOrigin(value: string): boolean {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/\/[a-z0-9._:[\]-]+$/.exec(value) ?? [];
  // The URL parser drops default ports, which browsers do not send.
  if (scheme === 'http' || scheme === 'https') {
    return URL.canParse(value) && new URL(value).origin === value;
  }
  return scheme !== '';
}

const EXPECTED =
  '* or a list of origins as browsers send them, such as https://app.example.com: lower case, no path, no default port';

/** Access of web pages of other origins (Fetch standard, section 3.2). */
export const cors = v.strictObject({
  origins: field(
    v.union([v.literal('*'), v.array(v.pipe(v.string(), v.check(isOrigin)))]),
    'Origins of the pages, such as [https://app.example.com], or * for all. Requests need a key all the same: ' +
      'a key that is part of a page can be read by every visitor.',
    { expects: EXPECTED, example: '*' },
  ),
  maxAge: v.optional(
    field(
      duration('0s', '1d'),
      'How long browsers may remember the answer to a preflight request; Chromium does for 2 hours at most.',
    ),
    '2h',
  ),
});
