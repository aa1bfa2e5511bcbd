import { sign } from 'node:crypto';
import { constants, open } from 'node:fs/promises';
import * as v from 'valibot';
import { codedFailure } from '../failure.ts';
import { tryParseJson } from '../schema/json.ts';
import { countOf, objectOf, textOf } from '../schema/untrusted.ts';
import {
  askIdentityService,
  type IdentityRequest,
  Renewed,
  refusedIdentity,
} from './credentials.ts';

/** Whose tokens are used. */
export interface GoogleIdentity {
  /** File with the key of a service account; undefined for the service account of the machine. */
  readonly keyFile?: string | undefined;
  /** HTTP proxy for requests to the address that the file names. */
  readonly proxy?: string | undefined;
}

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Bytes of a key file, which has two or three thousand. */
const MAX_BYTES = 64 * 1024;

/** Seconds for which a signed assertion is valid, at most. */
const ASSERTION_SECONDS = 3600;

/** Access tokens of a Google identity. @param now milliseconds since the epoch */
export function googleTokens({ keyFile, proxy }: GoogleIdentity, now: () => number = Date.now) {
  return new Renewed(async (upstream) => {
    const [url, request] = keyFile ? await keyRequest(keyFile, now()) : machineRequest();
    const answer = await askIdentityService(
      upstream,
      url,
      keyFile ? { ...request, proxy } : request,
    );
    const { access_token, expires_in } = objectOf(tryParseJson(answer));
    const token = textOf(access_token);
    const seconds = countOf(expires_in) ?? 0;
    if (seconds > 0 && /^[\x21-\x7e]+$/.test(token))
      return { token, endsAt: now() + seconds * 1000 };
    const detail = `expected a token and its seconds of ${url}, received something else`;
    throw codedFailure('upstream_failed', 'The provider failed', { detail });
  }, now);
}

type TokenRequest = readonly [string, IdentityRequest];

/** A request to the metadata server of Google's machines, by its documentation. */
function machineRequest(): TokenRequest {
  const host = process.env['GCE_METADATA_HOST'] || 'metadata.google.internal';
  const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`;
  return [url, { method: 'GET', headers: { 'metadata-flavor': 'Google' } }];
}

const text = v.pipe(v.string(), v.nonEmpty());

/** A service account's key. A signed assertion goes to its address, which no other server may see. */
const accountKey = v.object({
  type: v.literal('service_account'),
  client_email: text,
  private_key: text,
  private_key_id: text,
  token_uri: v.pipe(v.string(), v.startsWith('https://')),
});

/** A request that exchanges a signed assertion for a token (RFC 7523). @param now milliseconds since the epoch */
async function keyRequest(file: string, now: number): Promise<TokenRequest> {
  try {
    // The file is read for each token, so that it may be replaced.
    const key = v.parse(accountKey, JSON.parse(await readStart(file)));
    const { client_email: iss, token_uri: aud, private_key_id: kid } = key;
    const iat = Math.floor(now / 1000);
    const claims = { iss, scope: SCOPE, aud, iat, exp: iat + ASSERTION_SECONDS };
    const parts = [{ alg: 'RS256', typ: 'JWT', kid }, claims];
    const signed = parts.map((part) => base64url(JSON.stringify(part))).join('.');
    const signature = sign('RSA-SHA256', Buffer.from(signed), key.private_key);
    const assertion = `${signed}.${base64url(signature)}`;
    const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
    return [aud, { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body }];
  } catch (error) {
    // Messages of errors may quote the key.
    const { code = 'other content' } = error as NodeJS.ErrnoException;
    const expected = "expected a service account's key, with an https address as token_uri";
    throw refusedIdentity(`${file}: ${expected}, received ${code}`);
  }
}

const base64url = (content: string | Buffer) => Buffer.from(content).toString('base64url');

/** The beginning of a file, which may be a pipe or a device: neither is waited for. */
async function readStart(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_BYTES));
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
