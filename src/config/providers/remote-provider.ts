import * as v from 'valibot';
import { field, integer, optional, withDefault } from '../../schema/fields.ts';
import { headerMap, MAX_VALUE_LENGTH, TRANSPORT_HEADERS } from '../fields/headers.ts';
import { atMost, httpUrl, matching } from '../fields/text.ts';
import { duration } from '../fields/units.ts';

export const concurrency = withDefault(
  integer(1, 10_000),
  8,
  'Media tasks that run at this provider at once.',
);

const key = v.pipe(v.string(), v.regex(/^[\x21-\x7e]*$/));
const KEY = 'printable ASCII characters without spaces';

const MAX_KEYS = 100;

const headers = headerMap(
  [
    'authorization',
    'proxy-authorization',
    'x-api-key',
    'api-key',
    'x-goog-api-key',
    ...TRANSPORT_HEADERS,
  ],
  'interpolated',
);

const query = v.pipe(
  v.record(
    matching(/^[!-~]{1,128}$/, 'printable ASCII characters, 128 at most,'),
    field(v.pipe(v.string(), v.maxLength(MAX_VALUE_LENGTH)), 'Value of the parameter.', {
      secret: 'interpolated',
      expects: `a text of ${MAX_VALUE_LENGTH} characters at most`,
    }),
  ),
  atMost(32, 'parameters'),
);

function isProxyUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, pathname, search, hash, username, password } = new URL(value);
  const isBare = pathname === '/' && `${search}${hash}` === '';
  return /^https?:$/.test(protocol) && isBare && !/%(?![0-9a-f]{2})/i.test(username + password);
}

const timeouts = v.strictObject({
  connect: optional(duration('1ms'), 'Until a connection is open, through a proxy too.'),
  firstByte: optional(duration('1ms'), 'Until a streamed response begins.'),
  idle: optional(duration('1ms'), 'Longest wait between two chunks of a response.'),
  total: optional(
    duration('1ms'),
    'For a whole request; media tasks have limits.taskDeadline instead.',
  ),
});

/** Settings of a provider on the network. */
export const remote = {
  baseUrl: field(httpUrl(), "Base URL of the provider's interface, including /v1.", {
    secret: 'interpolated',
  }),
  shared: optional(
    v.boolean(),
    "Whether several clients share the provider's account (the default). They may then not " +
      'name objects that are stored there: files, conversations, responses of others. false if ' +
      "all keys of the daemon belong to the account's owner.",
  ),
  concurrency,
  apiKey: optional(key, 'API key; omit it if the provider requires none.', {
    secret: 'always',
    expects: KEY,
  }),
  apiKeys: optional(
    v.pipe(
      v.array(field(key, 'A key.', { secret: 'always', expects: KEY })),
      v.minLength(1),
      v.maxLength(MAX_KEYS),
    ),
    'Further keys of the same account, used in turn. A key that is rate limited or refused ' +
      'cools down, and the next key is used.',
    { expects: `a list of 1 to ${MAX_KEYS} keys` },
  ),
  headers: optional(headers, 'Additional headers of every request to the provider.'),
  query: optional(query, 'Additional query parameters of every request to the provider.'),
  proxy: optional(
    v.pipe(v.string(), v.check(isProxyUrl)),
    'HTTP proxy for requests to the provider (CONNECT), instead of HTTPS_PROXY of the ' +
      'environment: http://user:password@proxy.example:3128.',
    { secret: 'url', expects: 'an http or https URL without path, query and fragment' },
  ),
  timeouts: optional(
    timeouts,
    'Timeouts of requests to the provider that differ from routing.timeouts.',
  ),
};
