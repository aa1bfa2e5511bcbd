import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { httpUrl } from './text.ts';
import { duration } from './units.ts';

export const concurrency = v.optional(
  field(integer(1, 10_000), 'Media tasks that run on it at once.'),
  8,
);

const key = v.pipe(v.string(), v.regex(/^[\x21-\x7e]*$/));
const KEY = 'printable ASCII characters without spaces';

const MAX_KEYS = 100;
const MAX_NAMES = 32;
const MAX_VALUE_LENGTH = 4096;

/** Headers that hold keys, that Oriel sets itself, and that end at the next hop (RFC 9110, 7.6.1). */
const RESERVED_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'accept-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const headerName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/),
  v.check((name) => !RESERVED_HEADERS.has(name.toLowerCase())),
  v.metadata({ expects: `a header other than ${[...RESERVED_HEADERS].join(', ')}` }),
);

const headerValue = field(
  v.pipe(v.string(), v.regex(new RegExp(`^(?:[!-~](?:[ -~]{0,${MAX_VALUE_LENGTH - 2}}[!-~])?)?$`))),
  'Value of the header.',
  {
    secret: 'interpolated',
    expects: `printable ASCII characters, ${MAX_VALUE_LENGTH} at most, without spaces around them`,
  },
);

const headers = v.pipe(
  v.record(headerName, headerValue),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const names = Object.keys(dataset.value);
    if (names.length > MAX_NAMES) addIssue({ message: `expected at most ${MAX_NAMES} headers` });
    const twice = names.find((name, index) =>
      names.some((other, at) => at < index && other.toLowerCase() === name.toLowerCase()),
    );
    if (twice !== undefined) {
      addIssue({ message: `${twice}: set twice; names of headers differ in more than their case` });
    }
  }),
  v.transform((given) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value])),
  ),
);

const query = v.pipe(
  v.record(
    v.pipe(
      v.string(),
      v.regex(/^[!-~]{1,128}$/),
      v.metadata({ expects: 'printable ASCII characters, 128 at most,' }),
    ),
    field(v.pipe(v.string(), v.maxLength(MAX_VALUE_LENGTH)), 'Value of the parameter.', {
      secret: 'interpolated',
      expects: `a text of ${MAX_VALUE_LENGTH} characters at most`,
    }),
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || Object.keys(dataset.value).length <= MAX_NAMES) return;
    addIssue({ message: `expected at most ${MAX_NAMES} parameters` });
  }),
);

function isProxyUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, pathname, search, hash, username, password } = new URL(value);
  const isBare = pathname === '/' && `${search}${hash}` === '';
  return /^https?:$/.test(protocol) && isBare && !/%(?![0-9a-f]{2})/i.test(username + password);
}

const timeouts = v.strictObject({
  connect: v.optional(field(duration('1ms'), 'Until a connection is open, through a proxy too.')),
  firstByte: v.optional(field(duration('1ms'), 'Until a streamed response begins.')),
  idle: v.optional(field(duration('1ms'), 'Between two chunks of a response.')),
  total: v.optional(
    field(duration('1ms'), 'For a whole request; media tasks have limits.taskDeadline instead.'),
  ),
});

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
    field(key, 'Its key; leave it out if it requires none.', { secret: 'always', expects: KEY }),
  ),
  apiKeys: v.optional(
    field(
      v.pipe(
        v.array(field(key, 'A key.', { secret: 'always', expects: KEY })),
        v.minLength(1),
        v.maxLength(MAX_KEYS),
      ),
      'Further keys of the same account, used in turn. A key that is rate limited or refused rests for a ' +
        'while, and the next one is used.',
      { expects: `a list of 1 to ${MAX_KEYS} keys` },
    ),
  ),
  headers: v.optional(field(headers, 'Further headers of every request to it.')),
  query: v.optional(field(query, 'Parameters that are added to the query of every request to it.')),
  proxy: v.optional(
    field(
      v.pipe(v.string(), v.check(isProxyUrl)),
      'HTTP proxy through which it is reached (CONNECT), in place of HTTPS_PROXY of the environment: ' +
        'http://user:password@proxy.example:3128.',
      { secret: 'url', expects: 'an http or https URL without path, query and fragment' },
    ),
  ),
  timeouts: v.optional(
    field(timeouts, 'Timeouts of requests to it, where they differ from routing.timeouts.'),
  ),
};
