import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { tryParseJson } from '../../schema/json.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import { askIdentityService, refusedIdentity } from '../credentials.ts';
import type { Upstream } from '../response.ts';
import type { Profiles } from './profiles.ts';

/**
 * The credentials of a role that a profile names, by the token of a sign-in with `aws sso login`:
 * https://docs.aws.amazon.com/singlesignon/latest/PortalAPIReference/API_GetRoleCredentials.html
 *
 * @returns null for a profile without such a role
 * @throws Failure `upstream_auth` without a valid sign-in, or where AWS refuses it
 */
export async function ssoFields(
  profiles: Profiles,
  profileName: string,
  { upstream, proxy }: { readonly upstream: Upstream; readonly proxy?: string | undefined },
) {
  const profile = profiles.get(profileName);
  const name = profile?.get('sso_session');
  // Older profiles are sessions themselves.
  const session = name === undefined ? profile : profiles.get(`sso-session ${name}`);
  const [address, region] = [session?.get('sso_start_url'), session?.get('sso_region')];
  const [account_id, role_name] = [profile?.get('sso_account_id'), profile?.get('sso_role_name')];
  if (!address || !region || !account_id || !role_name) return null;
  const file = `${createHash('sha1')
    .update(name ?? address)
    .digest('hex')}.json`;
  const text = await readFile(join(homedir(), '.aws/sso/cache', file), 'utf8').catch(() => '');
  const { accessToken, expiresAt } = objectOf(tryParseJson(text));
  const token = textOf(accessToken);
  const endsAt = Date.parse(textOf(expiresAt).replace(/UTC$/, 'Z'));
  if (!/^[\x21-\x7e]+$/.test(token) || !(endsAt > Date.now())) {
    throw refusedIdentity(`no valid sign-in: run aws sso login --profile ${profileName}`);
  }
  const host = `portal.sso.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const base = process.env['AWS_ENDPOINT_URL_SSO'] || `https://${host}`;
  const url = `${base}/federation/credentials?${new URLSearchParams({ account_id, role_name })}`;
  const headers = { 'x-amz-sso_bearer_token': token };
  const answer = await askIdentityService(upstream, url, { method: 'GET', headers, proxy });
  const given = objectOf(objectOf(tryParseJson(answer))['roleCredentials']);
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = given;
  return {
    ...{ AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey },
    ...{ SessionToken: sessionToken, Expiration: expiration },
  };
}
