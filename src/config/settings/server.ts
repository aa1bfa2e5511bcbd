import * as v from 'valibot';
import { field, integer, optional, withDefault } from '../../schema/fields.ts';
import { httpUrl, ONCE, text } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';
import { isRange } from './network.ts';

const range = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || isRange(dataset.value)) return;
    addIssue({ message: 'expected an IP address or a CIDR range such as 10.0.0.0/8' });
  }),
);

/** The text of an environment variable for a boolean in a union, which is not converted by its type. */
const booleanText = v.pipe(
  v.picklist(['true', 'false']),
  v.transform((value) => value === 'true'),
);

/** An origin as browsers send it; pages of desktop applications and extensions have schemes of their own. */
function isOrigin(value: string): boolean {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/\/[a-z0-9._:[\]-]+$/.exec(value) ?? [];
  // The URL parser drops default ports, which browsers do not send.
  if (scheme === 'http' || scheme === 'https') {
    return URL.canParse(value) && new URL(value).origin === value;
  }
  return scheme !== '';
}

const EXPECTED_ORIGINS =
  '* or a list of origins as browsers send them, such as https://app.example.com: lower case, no path, no default port';

/** Access of web pages of other origins (Fetch standard, section 3.2). */
const cors = v.strictObject({
  origins: field(
    v.union([v.literal('*'), v.array(v.pipe(v.string(), v.check(isOrigin)))]),
    'Origins of the pages, such as [https://app.example.com], or * for all. Requests need a key all the same: ' +
      'a key that is part of a page can be read by every visitor.',
    { expects: EXPECTED_ORIGINS, example: '*' },
  ),
  maxAge: withDefault(
    duration('0s', '1d'),
    '2h',
    'How long browsers may remember the answer to a preflight request; Chromium does for 2 hours at most.',
  ),
});

/** The listener for clients. */
export const server = v.strictObject({
  host: withDefault(text(), '127.0.0.1', 'Address to listen on; 0.0.0.0 for all of them.', ONCE),
  port: withDefault(integer(0, 65_535), 8787, 'Port to listen on; 0 for any free one.', ONCE),
  publicUrl: optional(
    httpUrl(),
    'How clients reach this server, in the URLs of files. Unset: the address where it listens.',
    { example: 'https://oriel.example.com' },
  ),
  trustProxy: withDefault(
    v.union([v.boolean(), booleanText, v.array(range)]),
    false,
    'Proxies in front that may name the client by X-Forwarded-For: false for none, true for any peer, or ' +
      'a list such as [127.0.0.1, 10.0.0.0/8].',
    { ...ONCE, expects: 'true, false or a list of IP addresses and CIDR ranges' },
  ),
  grace: withDefault(
    duration('0s'),
    '30s',
    'How long open requests may take to finish when the server stops.',
  ),
  requestTimeout: withDefault(
    duration('1s'),
    '5m',
    'How long a client may take to send its whole request.',
    ONCE,
  ),
  sendTimeout: withDefault(
    duration('1s'),
    '60s',
    'How long a client may read nothing of its response before its connection is closed.',
    ONCE,
  ),
  bodyLimit: withDefault(size('1KB', '1GB'), '10MB', 'The largest JSON body.', ONCE),
  maxConnections: optional(
    integer(1, 1_000_000),
    'Connections at once; further ones are closed. Unset: 10,000, or what the limit of open ' +
      'descriptors allows.',
    { ...ONCE, example: 10_000 },
  ),
  cors: optional(
    cors,
    'Web pages that may use this server from other origins. Unset: browsers let pages of its own origin ' +
      'use it, and no others.',
  ),
  console: withDefault(
    v.boolean(),
    true,
    'Whether /console is served, the pages for people, who sign in with an API key. Without it no cookie ' +
      'is accepted either.',
    ONCE,
  ),
  operations: optional(
    v.strictObject({
      host: withDefault(text(), '127.0.0.1', 'Address to listen on.', ONCE),
      port: field(integer(0, 65_535), 'Port to listen on; 0 for any free one.', {
        ...ONCE,
        example: 8788,
      }),
    }),
    'A listener for /metrics and /openapi.json, which the public one then does not serve; health is on both.',
  ),
});
