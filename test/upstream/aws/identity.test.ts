import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { authorizeAws } from '../../../src/upstream/aws/authorize.ts';
import { Renewed } from '../../../src/upstream/credentials.ts';
import type { Upstream } from '../../../src/upstream/response.ts';
import {
  CONTAINER_TOKEN,
  REGION,
  SSO_TOKEN,
  startBedrock,
  WEB_TOKEN,
} from '../../text/bedrock/bedrock-mock.ts';
import { open, upstream } from '../servers.ts';

type Bedrock = Awaited<ReturnType<typeof startBedrock>>;

let bedrock: Bedrock;
const folder = mkdtempSync(join(tmpdir(), 'oriel-aws-'));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

beforeAll(async () => {
  bedrock = await startBedrock('http://127.0.0.1:9/v1');
  bedrock.answer = (response) => response.end('{}');
});
afterAll(() => bedrock.close());

let identities = 0;
/** Sends a request as a new identity, whose profile is one of the file's. */
const ask = (profile?: string, by = upstream()) => {
  identities += 1;
  const identity = { profile, region: REGION, proxy: undefined, identities } as const;
  const authorize = authorizeAws.bind(null, identity);
  const headers = { 'content-type': 'application/json' };
  const request = { authorize, headers, body: '{"ü":1}' };
  const url = `${bedrock.url}/model/arn%3Aaws%3Abedrock%3A%3A1%3Ax%2Fy%20z/invoke?b=2&a=1`;
  return () => open(url, request, by).then(({ status }) => status);
};

const REFUSED = expect.objectContaining({ code: 'upstream_auth', upstreamStatus: 401 });

const ROLE = 'arn:aws:iam::123456789012:role/the-role';
const CONFIG = `
[default]
region = nowhere
[profile keys]
aws_access_key_id = AKIDSTATIC
aws_secret_access_key=wrong
[profile web]
role_arn = ${ROLE}
web_identity_token_file = ${join(folder, 'web-token')}
[profile other]
role_arn = ${ROLE}
source_profile = keys
[profile chain]
role_arn = ${ROLE}
source_profile = other
[profile itself]
role_arn = ${ROLE}
source_profile = itself
external_id = x
aws_access_key_id = AKIDSTATIC
aws_secret_access_key = static/secret+5ecre7
[profile machine]
role_arn = ${ROLE}
credential_source = Environment
[profile circle]
role_arn = ${ROLE}
source_profile = back
[profile back]
role_arn = ${ROLE}
source_profile = circle
[profile sso]
sso_session = x
[sso-session team]
sso_start_url = https://team.awsapps.com/start
sso_region = eu-west-1
[profile signed]
sso_session = team
sso_account_id = 123456789012
sso_role_name = Dev
[profile older]
sso_start_url = https://older.awsapps.com/start
sso_region = eu-west-1
sso_account_id = 123456789012
sso_role_name = Dev
[profile by-signed]
role_arn = ${ROLE}
source_profile = signed
`;

const SIGNED_IN = {
  team: { name: 'team', accessToken: SSO_TOKEN, expiresAt: '2999-01-01T00:00:00Z' },
  older: {
    ...{ name: 'https://older.awsapps.com/start', accessToken: SSO_TOKEN },
    expiresAt: '2999-01-01T00:00:00UTC',
  },
};

/** Leaves what `aws sso login` does. @param name of the session, or its address */
function signIn(name: string, token: object): object {
  const cache = join(folder, '.aws/sso/cache');
  mkdirSync(cache, { recursive: true });
  const hash = createHash('sha1').update(name).digest('hex');
  writeFileSync(join(cache, `${hash}.json`), JSON.stringify(token));
  return {};
}

beforeEach(() => {
  for (const name of Object.keys(process.env)) if (/^AWS_/.test(name)) vi.stubEnv(name, '');
  vi.stubEnv('AWS_CONFIG_FILE', file('config', CONFIG));
  const credentials = '[keys]\r\naws_secret_access_key = static/secret+5ecre7\r\n';
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file('credentials', credentials));
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('HOME', folder);
  for (const { name, ...token } of Object.values(SIGNED_IN)) signIn(name, token);
  vi.stubEnv('AWS_ENDPOINT_URL_SSO', `${bedrock.url}/sso`);
  vi.stubEnv('AWS_ENDPOINT_URL_STS', `${bedrock.url}/sts`);
  file('web-token', `${WEB_TOKEN}\n`);
  Object.assign(bedrock, { given: 0, lifetime: 3600, identityStatus: 200 });
});
afterEach(() => vi.unstubAllEnvs());

const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDSTATIC', AWS_SECRET_ACCESS_KEY: 'static/secret+5ecre7' };
const WEB = { AWS_ROLE_ARN: ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'web-token') };
const container = () => ({
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `${bedrock.url}/container`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: CONTAINER_TOKEN,
});
const instance = () => ({
  AWS_EC2_METADATA_DISABLED: '',
  AWS_EC2_METADATA_SERVICE_ENDPOINT: bedrock.url,
});

describe('an identity of AWS', () => {
  it.each<readonly [string, () => object, string | undefined, number]>([
    ['variables', () => KEYS, undefined, 0],
    ['a profile with keys of both files', () => ({}), 'keys', 0],
    ['a profile named by a variable', () => ({ AWS_PROFILE: 'keys' }), undefined, 0],
    ['a profile with a web identity', () => ({}), 'web', 1],
    ['a profile with another as its source', () => ({}), 'other', 1],
    ['a profile whose source has a role', () => ({}), 'chain', 2],
    ['a profile that is its own source', () => ({}), 'itself', 1],
    ['a profile with a source of the machine', () => KEYS, 'machine', 1],
    ['a profile with a sign-in', () => ({}), 'signed', 1],
    ['a profile with an older sign-in', () => ({}), 'older', 1],
    ['a profile whose source has a sign-in', () => ({}), 'by-signed', 2],
    ['a web identity', () => WEB, undefined, 1],
    ['a container', container, undefined, 1],
    [
      'a container with a token file',
      () => ({
        ...container(),
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file('container-token', CONTAINER_TOKEN),
        AWS_CONTAINER_AUTHORIZATION_TOKEN: 'another',
      }),
      undefined,
      1,
    ],
    ['an instance', instance, undefined, 1],
  ])('is that of %s, once for all requests', async (_, variables, profile, given) => {
    for (const [name, value] of Object.entries(variables())) vi.stubEnv(name, value as string);
    const send = ask(profile);
    const answers = await Promise.all(Array.from({ length: 30 }, () => send()));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(bedrock.given).toBe(given);
  });

  it.each<readonly [string, () => object, string | undefined]>([
    ['there is none', () => ({}), undefined],
    ['there is no such profile', () => KEYS, 'missing'],
    ['its profiles are the source of each other', () => ({}), 'circle'],
    ['its source of the machine has none', () => ({}), 'machine'],
    ['its profile has neither keys nor a role', () => ({}), 'sso'],
    ['nobody is signed in', () => signIn('team', {}), 'signed'],
    [
      'its sign-in has ended',
      () => signIn('team', { ...SIGNED_IN.team, expiresAt: '2020-01-01T00:00:00Z' }),
      'signed',
    ],
    [
      'its sign-in is refused',
      () => signIn('team', { ...SIGNED_IN.team, accessToken: 'x' }),
      'signed',
    ],
    [
      'its token is another',
      () => ({ ...container(), AWS_CONTAINER_AUTHORIZATION_TOKEN: 'x' }),
      undefined,
    ],
    [
      'its token file is missing',
      () => ({ ...WEB, AWS_WEB_IDENTITY_TOKEN_FILE: '/nowhere' }),
      undefined,
    ],
    [
      'a variable names another host',
      () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://10.0.0.1/' }),
      undefined,
    ],
    [
      'a path names another host',
      () => ({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '@evil.example/' }),
      undefined,
    ],
    [
      'a path continues the host',
      () => ({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '.evil.example/' }),
      undefined,
    ],
    [
      'the metadata service is another',
      () => ({
        ...instance(),
        AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://metadata.google.internal',
      }),
      undefined,
    ],
  ])('is refused as the provider’s where %s', async (_, variables, profile) => {
    for (const [name, value] of Object.entries(variables())) vi.stubEnv(name, value as string);
    await expect(ask(profile)()).rejects.toEqual(REFUSED);
    expect(bedrock.given).toBe(0);
  });

  it('is asked again after a failure, and after its session was refused', async () => {
    for (const [name, value] of Object.entries(instance())) vi.stubEnv(name, value);
    const send = ask();
    bedrock.identityStatus = 503;
    await expect(send()).rejects.toMatchObject({ code: 'upstream_failed' });
    bedrock.identityStatus = 200;
    expect(await send()).toBe(200);
    for (const session of bedrock.sessions.values()) session.endsAt = 0;
    expect([await send(), await send(), bedrock.given]).toEqual([403, 200, 2]);
  });

  it('shows no token of a session in errors', async () => {
    for (const [name, value] of Object.entries(instance())) vi.stubEnv(name, value);
    const by = upstream();
    identities += 1;
    const identity = { region: 'us-east-1', identities };
    const response = await open(
      `${bedrock.url}/model/x/invoke`,
      {
        authorize: authorizeAws.bind(null, identity),
        headers: {},
        body: '{}',
      } as object,
      by,
    );
    const text = String(await response.bytes(100_000));
    expect(JSON.parse(text)).toMatchObject({ code: 'api_error' });
    expect(text).toContain('x-amz-security-token:***');
  });
});

describe('credentials that end', () => {
  const none = null as unknown as Upstream;

  it('are renewed five minutes before their end, while requests use them on', async () => {
    let now = 0;
    let renewals = 0;
    let fails = false;
    const values = new Renewed(
      async () => {
        renewals += 1;
        if (fails) throw new Error('refused');
        return { endsAt: now + 3_600_000, renewals };
      },
      () => now,
    );
    const takes = async (number: number) => expect((await values.take(none)).renewals).toBe(number);
    await takes(1);
    now = 3_299_999;
    await takes(1);
    expect(renewals).toBe(1);
    fails = true;
    now += 1;
    await Promise.all([takes(1), takes(1)]);
    expect(renewals).toBe(2);
    now += 9000;
    await takes(1);
    expect(renewals).toBe(2);
    now += 2000;
    await takes(1);
    expect(renewals).toBe(3);
    now = 3_600_000;
    await expect(values.take(none)).rejects.toThrow('refused');
    fails = false;
    await takes(5);
  });
});
