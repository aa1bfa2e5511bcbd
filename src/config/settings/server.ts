import * as v from 'valibot';
import { field, integer, optional, withDefault } from '../../schema/fields.ts';
import { checked, httpUrl, ONCE, text } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';
import { isRange } from './network.ts';

const range = v.pipe(
  v.string(),
  checked(isRange, 'expected an IP address or a CIDR range such as 10.0.0.0/8'),
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
    'Origins of the pages, such as [https://app.example.com], or * for all. Requests still ' +
      'need a key. Every visitor can read a key that is part of a page.',
    { expects: EXPECTED_ORIGINS, example: '*' },
  ),
  maxAge: withDefault(
    duration('0s', '1d'),
    '2h',
    'How long browsers may remember the answer to a preflight request; Chromium does for 2 hours at most.',
  ),
});

/** Processes that serve the port. */
export const processes = v.pipe(
  v.union([
    v.literal('auto'),
    integer(1, 256),
    v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number), integer(1, 256)),
  ]),
  v.metadata({ expects: 'auto or a number from 1 to 256' }),
);

/** The listener for clients. */
export const server = v.strictObject({
  host: withDefault(text(), '127.0.0.1', 'Address to listen on; 0.0.0.0 for all addresses.', ONCE),
  port: withDefault(integer(0, 65_535), 8787, 'Port to listen on; 0 for any free port.', ONCE),
  processes: withDefault(
    processes,
    1,
    'Processes that serve the port, each a node of the store; auto for one on each core. More than ' +
      'one need store.driver postgres. They divide pool, batch, overload, store.poolSize and maxConnections.',
    ONCE,
  ),
  publicUrl: optional(
    httpUrl(),
    'URL at which clients reach the daemon, for the URLs of files. Unset: the address that it listens on.',
    { example: 'https://oriel.example.com' },
  ),
  trustProxy: withDefault(
    v.union([v.boolean(), booleanText, v.array(range)]),
    false,
    'Proxies whose X-Forwarded-For names the client: false for none, true for any peer, or a ' +
      'list such as [127.0.0.1, 10.0.0.0/8].',
    { ...ONCE, expects: 'true, false or a list of IP addresses and CIDR ranges' },
  ),
  grace: withDefault(
    duration('0s'),
    '30s',
    'How long open requests may take to finish when the daemon stops.',
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
    'How long a client may stop reading its response before its connection is closed.',
    ONCE,
  ),
  bodyLimit: withDefault(size('1KB', '1GB'), '10MB', 'The largest JSON body.', ONCE),
  maxConnections: optional(
    integer(1, 1_000_000),
    'Most open connections; further connections are closed. Unset: 10,000, or fewer if the ' +
      'limit of open descriptors requires it.',
    { ...ONCE, example: 10_000 },
  ),
  cors: optional(
    cors,
    'Web pages of other origins that may use the daemon. Unset: browsers permit only pages of ' +
      "the daemon's origin.",
  ),
  console: withDefault(
    v.boolean(),
    true,
    'Whether the console is served at /console, where people sign in with an API key. If ' +
      'false, no cookie is accepted either.',
    ONCE,
  ),
  operations: optional(
    v.strictObject({
      host: withDefault(text(), '127.0.0.1', 'Address to listen on.', ONCE),
      port: field(integer(0, 65_535), 'Port to listen on; 0 for any free port.', {
        ...ONCE,
        example: 8788,
      }),
    }),
    'Separate listener for /metrics and /openapi.json. The public listener then serves neither. Both serve the health checks.',
  ),
});
