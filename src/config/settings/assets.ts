import { isIP } from 'node:net';
import * as v from 'valibot';
import type { Fault } from '../../schema/faults.ts';
import { integer, optional, rule, withDefault } from '../../schema/fields.ts';
import { httpUrl, matching, ONCE } from '../fields/text.ts';
import { duration } from '../fields/units.ts';
import type { Environment } from '../yaml/interpolate.ts';

/** The base URL of a service, without a path. */
const serviceUrl = () =>
  v.pipe(
    httpUrl(),
    v.check((url) => new URL(url).pathname === '/'),
    v.metadata({ expects: 'an http or https URL without path, credentials, query and fragment' }),
    v.transform((url) => new URL(url).origin),
  );

const bucketName = matching(
  /^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/,
  'the name of a bucket: 3 to 63 of a-z, 0-9, . and -',
);

const keyPrefix = v.pipe(
  v.string(),
  v.regex(/^(?:[A-Za-z0-9._-]{1,64}(?:\/[A-Za-z0-9._-]{1,64}){0,9}\/?)?$/),
  v.check((prefix) => !/(^|\/)\.{1,2}(\/|$)/.test(prefix)),
  v.metadata({ expects: 'names of letters, digits, . _ and - with slashes between them' }),
  v.transform((prefix) => (prefix === '' ? '' : `${prefix.replace(/\/$/, '')}/`)),
);

const key = v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/));
const KEY = 'printable ASCII characters without spaces';

const redirect = v.strictObject({
  expiry: withDefault(
    duration('1s', '7d'),
    '15m',
    'How long a URL is valid; caches keep the redirect half as long.',
    ONCE,
  ),
  endpoint: optional(
    serviceUrl(),
    'Base URL at which clients reach the service. Unset: endpoint.',
    {
      ...ONCE,
      example: 'https://files.example.com',
    },
  ),
});

const entries = {
  driver: withDefault(
    v.picklist(['disk', 's3']),
    'disk',
    'Storage of files: disk (in dataDir/assets) or s3 (a bucket that several nodes can ' +
      'share). The other settings are for s3.',
    ONCE,
  ),
  endpoint: optional(
    serviceUrl(),
    'Base URL of the S3 service; private addresses are allowed. Unset: AWS in the region.',
    { ...ONCE, example: 'https://s3.example.com' },
  ),
  region: withDefault(
    v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/)),
    'us-east-1',
    'Region of the bucket; most services other than AWS accept any region.',
    { ...ONCE, expects: 'the name of a region such as eu-central-1' },
  ),
  bucket: optional(bucketName, 'Name of the bucket.', { ...ONCE, example: 'oriel-files' }),
  prefix: withDefault(
    keyPrefix,
    '',
    'Prefix of all object names, for a bucket that others use too.',
    ONCE,
  ),
  forcePathStyle: withDefault(
    v.boolean(),
    false,
    'Whether URLs name the bucket in the path instead of the host. Many services other than AWS need this.',
    ONCE,
  ),
  accessKeyId: optional(key, 'The access key. Unset: AWS_ACCESS_KEY_ID of the environment.', {
    secret: 'always',
    example: `\${S3_ACCESS_KEY_ID}`,
    expects: KEY,
  }),
  secretAccessKey: optional(key, 'Its secret. Unset: AWS_SECRET_ACCESS_KEY of the environment.', {
    secret: 'always',
    example: `\${S3_SECRET_ACCESS_KEY}`,
    expects: KEY,
  }),
  sessionToken: optional(
    key,
    'Session token of temporary credentials. Unset: AWS_SESSION_TOKEN of the environment, unless the key is set here.',
    { secret: 'always', example: `\${S3_SESSION_TOKEN}`, expects: KEY },
  ),
  redirect: optional(
    redirect,
    'Lets /assets answer 302 with a presigned URL of the bucket. Unset: the daemon sends files itself.',
  ),
  connections: withDefault(
    integer(1, 10_000),
    64,
    'Most requests to the service at once; downloads may use three quarters of them.',
    ONCE,
  ),
  timeout: withDefault(
    duration('100ms', '1h'),
    '15s',
    "Longest wait for the service's answer, and between two pieces of an answer.",
    ONCE,
  ),
};

type Assets = v.InferOutput<ReturnType<typeof unchecked>>;

const unchecked = () => v.strictObject(entries);

/** Settings that need `driver: s3`, by the setting that is at fault. */
function faultOf(assets: Assets): readonly [string, string] | null {
  const { driver, bucket, endpoint, forcePathStyle } = assets;
  if (driver === 'disk') {
    const names = [
      'endpoint',
      'bucket',
      'accessKeyId',
      'secretAccessKey',
      'sessionToken',
      'redirect',
    ];
    const name = names.find((one) => assets[one as keyof Assets] !== undefined);
    return name === undefined ? null : [name, 'expected driver: s3 beside it'];
  }
  if (bucket === undefined) return ['bucket', 'is required: the name of a bucket'];
  const host = endpoint === undefined ? '' : new URL(endpoint).hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !forcePathStyle) {
    return ['forcePathStyle', 'expected true with an endpoint that is an IP address'];
  }
  return null;
}

/** Where the files of tasks and uploads are kept. */
export const assets = v.pipe(unchecked(), rule(faultOf));

/** The variables of the environment that programs for S3 read. */
const VARIABLES = {
  accessKeyId: 'AWS_ACCESS_KEY_ID',
  secretAccessKey: 'AWS_SECRET_ACCESS_KEY',
  sessionToken: 'AWS_SESSION_TOKEN',
} as const;

/** Takes credentials that the file does not set from the environment. A pair is never mixed of both. */
export function withCredentials<Settings extends Assets>(
  settings: Settings,
  env: Environment,
): Settings {
  const { driver, accessKeyId, secretAccessKey } = settings;
  if (driver === 'disk' || accessKeyId !== undefined || secretAccessKey !== undefined)
    return settings;
  const found = Object.entries(VARIABLES).flatMap(([name, variable]) => {
    const value = env[variable];
    return value ? [[name, value]] : [];
  });
  return { ...Object.fromEntries(found), ...settings };
}

/** Faults of the credentials of S3 after those of the environment were added. */
export function credentialFaults({
  driver,
  accessKeyId,
  secretAccessKey,
}: Assets): readonly Fault[] {
  if (driver === 'disk') return [];
  const given = { accessKeyId, secretAccessKey };
  return (['accessKeyId', 'secretAccessKey'] as const)
    .filter((name) => given[name] === undefined)
    .map((name) => ({
      path: ['assets', name],
      message: `expected a key here, or ${VARIABLES[name]} in the environment`,
    }));
}
