import { readFile } from 'node:fs/promises';
import { Failure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import { Renewed } from '../renewed.ts';
import type { UpstreamRequest } from '../request.ts';
import type { Upstream } from '../response.ts';
import { readProfiles } from './profiles.ts';
import { type AwsCredentials, signatureHeaders } from './signature.ts';

/** Whose credentials are used. */
export interface AwsIdentity {
  /** Name of a profile in AWS's files; undefined for the first source that has credentials. */
  readonly profile?: string | undefined;
  /** Region of the security token service. */
  readonly region: string;
  /** HTTP proxy for requests to the security token service. */
  readonly proxy?: string | undefined;
}

/** @param endsAt milliseconds since the epoch */
type AwsSession = AwsCredentials & { readonly endsAt: number };

/** Bytes of an answer with credentials: the largest have some kilobytes. */
const MAX_BYTES = 64 * 1024;

/** Metadata services are on the same machine. */
const TIMEOUTS = { connect: 1000, firstByte: 0, idle: 0, total: 10_000 };

/** Milliseconds after which keys without an end are read again, since their file may have changed. */
const STATIC_MS = 60_000;

/** The failure of an identity that cannot be used. @param detail for the log alone */
function refused(detail: string): Failure {
  return new Failure('service_error', "The provider did not accept the gateway's credentials", {
    ...{ code: 'upstream_auth', upstreamStatus: 401, detail },
  });
}

/** @throws Failure `upstream_auth` where a service that gives credentials refuses; as `UpstreamClient.open` does */
async function ask(
  upstream: Upstream,
  url: string,
  request: Pick<UpstreamRequest, 'method' | 'headers' | 'body' | 'proxy'>,
): Promise<string> {
  const { signal } = new AbortController();
  const name = 'The identity service of the provider';
  const response = await upstream.open(url, { ...request, name, timeouts: TIMEOUTS, signal });
  const { status } = response;
  const text = (await response.bytes(MAX_BYTES)).toString();
  if (status === 200) return text;
  const detail = `status ${status} of ${url}: ${text.replace(/\s+/g, ' ').slice(0, 500)}`;
  if (status < 500 && status !== 408 && status !== 429) throw refused(detail);
  throw new Failure('service_error', 'The provider failed', { code: 'upstream_failed', detail });
}

/** Keys without an end; null where one is missing. */
function staticSession(id?: string, secret?: string, token?: string): AwsSession | null {
  if (!id || !secret) return null;
  const keys = { accessKeyId: id, secretAccessKey: secret, sessionToken: token || undefined };
  return { ...keys, endsAt: Date.now() + STATIC_MS };
}

/** @param fields of an answer @throws Failure where it has no session */
function sessionIn(fields: Readonly<Record<string, unknown>>): AwsSession {
  const { AccessKeyId, SecretAccessKey, Token, SessionToken = Token, Expiration } = fields;
  const keys = [AccessKeyId, SecretAccessKey, SessionToken].map(textOf);
  const [accessKeyId = '', secretAccessKey = '', sessionToken = ''] = keys;
  const endsAt = Date.parse(textOf(Expiration));
  const areKeys = keys.every((key) => /^[\x21-\x7e]+$/.test(key));
  if (areKeys && endsAt > Date.now()) {
    return { accessKeyId, secretAccessKey, sessionToken, endsAt };
  }
  const detail = 'expected credentials that are valid now of the identity service, received others';
  throw new Failure('service_error', 'The provider failed', { code: 'upstream_failed', detail });
}

type Context = AwsIdentity & { readonly upstream: Upstream };

type Source = (context: Context) => Promise<AwsSession | null>;

const environment: Source = async () => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  return staticSession(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN);
};

/** @param by a session, or the token of a web identity */
async function assumeRole(
  { upstream, region, proxy }: Context,
  arn: string,
  by: AwsSession | string,
): Promise<AwsSession> {
  const host = `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const url = process.env['AWS_ENDPOINT_URL_STS'] || `https://${host}/`;
  const isToken = typeof by === 'string';
  const form = new URLSearchParams({
    ...{ Version: '2011-06-15', RoleArn: arn, RoleSessionName: 'oriel' },
    ...(isToken
      ? { Action: 'AssumeRoleWithWebIdentity', WebIdentityToken: by }
      : { Action: 'AssumeRole' }),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const request = { headers, body: form.toString(), proxy };
  const signature = isToken
    ? {}
    : signatureHeaders(url, 'sts', request, { region, credentials: by });
  const signed = { ...request, headers: { ...headers, ...signature } };
  const fields = (await ask(upstream, url, signed)).matchAll(/<(\w+)>([^<]*)<\/\1>/g);
  return sessionIn(Object.fromEntries([...fields].map(([, name, text]) => [name, text])));
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw refused(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

const webIdentity: Source = async (context) => {
  const { AWS_ROLE_ARN: arn, AWS_WEB_IDENTITY_TOKEN_FILE: file } = process.env;
  return arn && file ? assumeRole(context, arn, await readToken(file)) : null;
};

/** A profile of AWS's files. Programs that print credentials are not run. */
async function fromProfile(
  context: Context,
  name: string,
  above: readonly string[] = [],
): Promise<AwsSession | null> {
  const profile = (await readProfiles()).get(name);
  if (profile === undefined) return null;
  const [id, secret, token, role, file, source] = [
    ...['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token', 'role_arn'],
    ...['web_identity_token_file', 'source_profile'],
  ].map((key) => profile.get(key));
  // A profile with a role may name itself as the source of its keys.
  if (!role || above.includes(name)) return staticSession(id, secret, token);
  if (file) return assumeRole(context, role, await readToken(file));
  const by = source ? await fromProfile(context, source, [...above, name]) : null;
  return by && assumeRole(context, role, by);
}

/** Hosts of AWS's metadata services, and this machine: variables name no others. */
const METADATA_HOSTS =
  /^(?:169\.254\.169\.254|169\.254\.170\.(?:2|23)|\[fd00:ec2::(?:254|23)\]|127(?:\.\d+){3}|\[::1\]|localhost)$/;

/** @throws Failure where it is no address of a metadata service */
function metadataUrl(variable: string, address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isSafe = url?.protocol === 'https:' || METADATA_HOSTS.test(url?.hostname ?? '');
  if (isSafe && url?.username === '') return url.href.replace(/\/$/, '');
  throw refused(`${variable}: expected https, or an address of AWS's metadata services`);
}

const container: Source = async ({ upstream }) => {
  const [uri, token] = ['AWS_CONTAINER_CREDENTIALS', 'AWS_CONTAINER_AUTHORIZATION'];
  const { [`${uri}_RELATIVE_URI`]: relative, [`${uri}_FULL_URI`]: full } = process.env;
  const { [`${token}_TOKEN_FILE`]: file, [`${token}_TOKEN`]: given } = process.env;
  const address = relative ? `http://169.254.170.2${relative}` : full;
  if (!address) return null;
  const url = metadataUrl(relative ? `${uri}_RELATIVE_URI` : `${uri}_FULL_URI`, address);
  const authorization = file ? await readToken(file) : given;
  const headers: Record<string, string> = authorization ? { authorization } : {};
  return sessionIn(objectOf(tryParseJson(await ask(upstream, url, { method: 'GET', headers }))));
};

/** The role of a virtual machine, by version 2 of its metadata service. */
const instance: Source = async ({ upstream }) => {
  if (/^true$/i.test(process.env['AWS_EC2_METADATA_DISABLED'] ?? '')) return null;
  const variable = 'AWS_EC2_METADATA_SERVICE_ENDPOINT';
  const base = metadataUrl(variable, process.env[variable] || 'http://169.254.169.254');
  const read = (path: string, method: 'GET' | 'PUT', header: string, value: string) =>
    ask(upstream, `${base}/latest/${path}`, { method, headers: { [header]: value } });
  try {
    const ttl = 'x-aws-ec2-metadata-token-ttl-seconds';
    const token = await read('api/token', 'PUT', ttl, '300');
    const get = (path: string) => read(path, 'GET', 'x-aws-ec2-metadata-token', token);
    const roles = 'meta-data/iam/security-credentials/';
    const [role = ''] = (await get(roles)).split('\n', 1);
    return sessionIn(objectOf(tryParseJson(await get(roles + encodeURIComponent(role)))));
  } catch (error) {
    // Other machines have no such service.
    if (error instanceof Failure && /^(?:network_error|timeout)$/.test(error.type)) return null;
    throw error;
  }
};

/** In the order of AWS's own tools. */
const SOURCES: readonly Source[] = [
  environment,
  webIdentity,
  (context) => fromProfile(context, process.env['AWS_PROFILE'] || 'default'),
  container,
  instance,
];

async function openSession(context: Context): Promise<AwsSession> {
  const { profile } = context;
  const sources = profile === undefined ? SOURCES : [() => fromProfile(context, profile)];
  for (const source of sources) {
    const session = await source(context);
    if (session !== null) return session;
  }
  throw refused(
    profile === undefined
      ? 'no AWS credentials in variables, profiles, the container and the instance'
      : `profile ${profile}: expected keys, or role_arn with a token file or a source profile`,
  );
}

/** Sessions by identity. Identities are few: reloads may change them. */
const SESSIONS = new Map<string, Renewed<AwsSession>>();
const MAX_IDENTITIES = 64;

/** The sessions of an identity, which all requests of the process share. */
export function sessionsOf(identity: AwsIdentity): Renewed<AwsSession> {
  const key = JSON.stringify(identity);
  let sessions = SESSIONS.get(key);
  if (sessions === undefined) {
    if (SESSIONS.size >= MAX_IDENTITIES) SESSIONS.clear();
    sessions = new Renewed((upstream) => openSession({ ...identity, upstream }));
    SESSIONS.set(key, sessions);
  }
  return sessions;
}
