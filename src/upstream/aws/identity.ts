import { readFile } from 'node:fs/promises';
import { Failure } from '../../failure.ts';
import { getOrInsert } from '../../maps.ts';
import { tryParseJson } from '../../schema/json.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import { askIdentityService as ask, Renewed, refusedIdentity as refused } from '../credentials.ts';
import type { Upstream } from '../response.ts';
import { readProfiles } from './profiles.ts';
import { type AwsCredentials, signatureHeaders } from './signature.ts';
import { ssoFields } from './sso.ts';

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

/** Milliseconds after which keys without an end are read again, since their file may have changed. */
const STATIC_MS = 60_000;

/** Keys without an end; null where one is missing. */
function staticSession(id?: string, secret?: string, token?: string): AwsSession | null {
  if (!id || !secret) return null;
  const keys = { accessKeyId: id, secretAccessKey: secret, sessionToken: token || undefined };
  return { ...keys, endsAt: Date.now() + STATIC_MS };
}

/** @param fields of an answer @throws Failure where it has no session that is valid now */
function sessionIn(fields: Readonly<Record<string, unknown>>): AwsSession {
  const { AccessKeyId, SecretAccessKey, Token, SessionToken = Token, Expiration } = fields;
  const [id, secret, token] = [AccessKeyId, SecretAccessKey, SessionToken].map(textOf);
  const endsAt = typeof Expiration === 'number' ? Expiration : Date.parse(textOf(Expiration));
  const session = { ...staticSession(id, secret, token)!, endsAt };
  if (/^[\x21-\x7e]+$/.test(session.sessionToken ?? '') && session.endsAt > Date.now())
    return session;
  throw refused('expected credentials that are valid now of the identity service, received others');
}

type Context = AwsIdentity & { readonly upstream: Upstream };

type Source = (context: Context) => Promise<AwsSession | null>;

const environment: Source = async () => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  return staticSession(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN);
};

const readToken = (file: string) =>
  readFile(file, 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      throw refused(`${file} cannot be read: ${error.code}`);
    },
  );

/** Takes a role: by the token of a web identity in a file, or by other credentials. */
async function assumeRole(
  { upstream, region, proxy }: Context,
  role: string,
  by: string | AwsCredentials,
  externalId?: string,
): Promise<AwsSession> {
  const host = `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const url = process.env['AWS_ENDPOINT_URL_STS'] || `https://${host}/`;
  const isWeb = typeof by === 'string';
  const body = new URLSearchParams({
    ...{ Version: '2011-06-15', RoleArn: role, RoleSessionName: 'oriel' },
    ...(isWeb
      ? { Action: 'AssumeRoleWithWebIdentity', WebIdentityToken: await readToken(by) }
      : { Action: 'AssumeRole', ...(externalId !== undefined && { ExternalId: externalId }) }),
  }).toString();
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const scope = !isWeb && { region, credentials: by };
  const signed = scope && signatureHeaders(url, 'sts', { headers: form, body }, scope);
  const answer = await ask(upstream, url, { headers: { ...form, ...signed }, body, proxy });
  const fields = [...answer.matchAll(/<(\w+)>([^<]*)<\/\1>/g)];
  return sessionIn(Object.fromEntries(fields.map(([, name, text]) => [name, text])));
}

const webIdentity: Source = async (context) => {
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file } = process.env;
  return role && file ? assumeRole(context, role, file) : null;
};

/** Roles that are taken one by the other. */
const MAX_ROLES = 5;

/** The session of a profile of AWS's files. `credential_process` and `mfa_serial` are not supported. */
async function fromProfile(
  context: Context,
  name: string,
  most = MAX_ROLES,
): Promise<AwsSession | null> {
  const profiles = await readProfiles();
  const profile = profiles.get(name);
  const [id, secret, token, role, file] = [
    ...['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'],
    ...['role_arn', 'web_identity_token_file'],
  ].map((key) => profile?.get(key));
  const own = staticSession(id, secret, token);
  if (!role || !profile || most === 0) {
    const fields = own ? null : await ssoFields(profiles, name, context);
    return fields ? sessionIn(fields) : own;
  }
  if (file) return assumeRole(context, role, file);
  const other = profile.get('source_profile');
  // A profile may name itself: its own keys take the role.
  const isOther = other !== undefined && (other !== name || own === null);
  const named = {
    Environment: environment,
    EcsContainer: container,
    Ec2InstanceMetadata: instance,
  };
  const ofMachine = named[profile.get('credential_source') as keyof typeof named];
  const source = isOther
    ? await fromProfile(context, other, most - 1)
    : ofMachine
      ? await ofMachine(context)
      : other && own;
  return source ? assumeRole(context, role, source, profile.get('external_id')) : null;
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
  const read = (path: string, headers: Record<string, string>, method: 'GET' | 'PUT' = 'GET') =>
    ask(upstream, `${base}/latest/${path}`, { method, headers });
  const roles = 'meta-data/iam/security-credentials/';
  try {
    const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' };
    const token = { 'x-aws-ec2-metadata-token': await read('api/token', ttl, 'PUT') };
    const [role = ''] = (await read(roles, token)).split('\n', 1);
    return sessionIn(objectOf(tryParseJson(await read(roles + encodeURIComponent(role), token))));
  } catch (error) {
    // Other machines have no such service.
    if (error instanceof Failure && /^(?:network_error|timeout)$/.test(error.type)) return null;
    throw error;
  }
};

async function openSession(context: Context): Promise<AwsSession> {
  const { profile } = context;
  const ofProfile = () =>
    fromProfile(context, profile ?? (process.env['AWS_PROFILE'] || 'default'));
  // In the order of AWS's own tools.
  const all = [environment, webIdentity, ofProfile, container, instance];
  const sources = profile === undefined ? all : [ofProfile];
  for (const source of sources) {
    const session = await source(context);
    if (session !== null) return session;
  }
  throw refused(
    `no AWS credentials in ${profile === undefined ? 'any source' : `profile ${profile}`}`,
  );
}

/** Sessions by identity. Identities are few: only reloads of settings add some. */
const SESSIONS = new Map<string, Renewed<AwsSession>>();

/** The sessions of an identity, which all requests of the process share. */
export function sessionsOf(identity: AwsIdentity): Renewed<AwsSession> {
  const key = JSON.stringify(identity);
  return getOrInsert(
    SESSIONS,
    key,
    () => new Renewed((upstream) => openSession({ ...identity, upstream })),
  );
}
