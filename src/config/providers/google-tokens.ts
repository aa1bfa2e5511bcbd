import { sign } from 'node:crypto';
import { constants, open } from 'node:fs/promises';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { countOf, objectOf, textOf } from '../../schema/untrusted.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import type { Upstream } from '../../upstream/response.ts';

/** Whose tokens are used. */
export interface GoogleIdentity {
  /** File with the key of a service account; undefined for the service account of the machine. */
  readonly keyFile?: string | undefined;
  /** HTTP proxy for requests to the address that the file names. */
  readonly proxy?: string | undefined;
}

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Bytes of a key file, and of an answer with a token: both have two or three thousand. */
const MAX_BYTES = 64 * 1024;

/** Milliseconds before its end at which a token is renewed. */
const RENEWED_BEFORE_MS = 5 * 60_000;

/** Milliseconds between two renewals while the former token is valid. */
const RENEWAL_PAUSE_MS = 10_000;

/** Seconds for which a signed assertion is valid, at most. */
const ASSERTION_SECONDS = 3600;

const TIMEOUTS = { connect: 5000, firstByte: 0, idle: 0, total: 10_000 };

/** A token and its end, in milliseconds since the epoch. */
type Token = { readonly text: string; readonly endsAt: number };

/** Access tokens of a Google identity. A token is renewed once for all requests, which wait for it. */
export class GoogleTokens {
  readonly #identity: GoogleIdentity;
  readonly #now: () => number;
  #token: Token = { text: '', endsAt: 0 };
  #renewAt = 0;
  #renewal: Promise<void> | null = null;

  /** @param now milliseconds since the epoch */
  constructor(identity: GoogleIdentity, now: () => number = Date.now) {
    this.#identity = identity;
    this.#now = now;
  }

  /**
   * A token that is valid now.
   *
   * @throws Failure `upstream_auth` where a renewal is refused, and as `UpstreamClient.open` does
   */
  async take(upstream: Upstream): Promise<string> {
    if (this.#now() >= this.#renewAt) {
      this.#renewal ??= this.#renew(upstream).finally(() => {
        this.#renewal = null;
      });
      await this.#renewal;
    }
    return this.#token.text;
  }

  /** Forgets a token that was refused. */
  forget(text: string): void {
    if (this.#token.text === text) this.#renewAt = 0;
  }

  async #renew(upstream: Upstream): Promise<void> {
    try {
      this.#token = await requestToken(upstream, this.#identity, this.#now);
    } catch (error) {
      const isRefused = error instanceof Failure && error.code === 'upstream_auth';
      if (isRefused || this.#token.endsAt <= this.#now()) throw error;
    }
    const { endsAt } = this.#token;
    const renewAt = Math.max(endsAt - RENEWED_BEFORE_MS, this.#now() + RENEWAL_PAUSE_MS);
    this.#renewAt = Math.min(renewAt, endsAt);
  }
}

async function requestToken(
  upstream: Upstream,
  { keyFile, proxy }: GoogleIdentity,
  now: () => number,
): Promise<Token> {
  const [url, request] = keyFile ? await keyRequest(keyFile, now()) : machineRequest();
  const { signal } = new AbortController();
  const about = { name: 'The token service of the provider', timeouts: TIMEOUTS, signal };
  const exchange = await upstream.open(url, { ...about, ...request, ...(keyFile && { proxy }) });
  const { status } = exchange;
  const body = objectOf(tryParseJson((await exchange.bytes(MAX_BYTES)).toString()));
  const words = [body['error'], body['error_description']].map(textOf).join(': ');
  const detail = `status ${status} of the token service: ${words.slice(0, 500)}`;
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) throw refused(detail);
  const text = textOf(body['access_token']);
  const seconds = countOf(body['expires_in']) ?? 0;
  if (status !== 200 || seconds === 0 || !/^[\x21-\x7e]+$/.test(text)) {
    throw new Failure('service_error', 'The provider failed', { code: 'upstream_failed', detail });
  }
  return { text, endsAt: now() + seconds * 1000 };
}

type TokenRequest = readonly [string, Pick<UpstreamRequest, 'method' | 'headers' | 'body'>];

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
    throw refused(`${file}: ${expected}, received ${code}`);
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

/** The failure of an identity that cannot be used. @param detail for the log alone */
function refused(detail: string): Failure {
  return new Failure('service_error', "The provider did not accept the gateway's credentials", {
    ...{ code: 'upstream_auth', upstreamStatus: 401, detail },
  });
}
