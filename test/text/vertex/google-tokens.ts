import { generateKeyPairSync, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const PAIR = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PRIVATE_KEY = PAIR.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const EMAIL = 'oriel@project-1.iam.gserviceaccount.com';
const KEY_ID = '0123456789abcdef';

/** Writes a service account's key as Google's console does. @returns its path */
export function writeKeyFile(folder: string, changes: object): string {
  const file = join(folder, `key-${Math.random()}.json`);
  const key = {
    ...{ type: 'service_account', project_id: 'project-1', private_key_id: KEY_ID },
    ...{ private_key: PRIVATE_KEY, client_email: EMAIL, client_id: '1' },
    ...changes,
  };
  writeFileSync(file, JSON.stringify(key));
  return file;
}

type Refusal = readonly [status: number, body: object];

const badGrant = (why: string): Refusal => [
  400,
  { error: 'invalid_grant', error_description: why },
];

/** Google's token endpoint and metadata server, which accept what their documentation says and nothing else. */
export class TokenService {
  /** Tokens so far. */
  readonly issued: string[] = [];
  /** Answers in place of tokens, each once. */
  readonly refusals: Refusal[] = [];
  /** Requests so far. */
  asked = 0;
  /** Seconds for which tokens are valid. */
  lifetime = 3599;
  /** The address that assertions are for. */
  audience = '';
  now = () => Date.now();

  readonly listener: RequestListener = async (request, response) => {
    this.asked += 1;
    const fault = this.refusals.shift() ?? (await this.#faultOf(request));
    const isMetadata = request.method === 'GET';
    response.setHeader('content-type', 'application/json');
    if (isMetadata) response.setHeader('metadata-flavor', 'Google');
    if (fault) return response.writeHead(fault[0]).end(JSON.stringify(fault[1]));
    const access_token = `ya29.${isMetadata ? 'machine' : 'account'}-5ecre7-${this.asked}`;
    this.issued.push(access_token);
    const body = { access_token, expires_in: this.lifetime, token_type: 'Bearer' };
    return response.end(JSON.stringify(body));
  };

  async #faultOf(request: IncomingMessage): Promise<Refusal | null> {
    const { method, url, headers } = request;
    if (method === 'GET') {
      if (headers['metadata-flavor'] !== 'Google') return [403, {}];
      const isKnown = url === '/computeMetadata/v1/instance/service-accounts/default/token';
      return isKnown ? null : [404, {}];
    }
    if (method !== 'POST' || url !== '/token') return [404, {}];
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') return [415, {}];
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    if (form['grant_type'] !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
      return [400, { error: 'unsupported_grant_type' }];
    }
    const parts = form['assertion']?.split('.') ?? [];
    if (Object.keys(form).length !== 2 || parts.length !== 3) return badGrant('Not a JWT.');
    const [head = '', body = '', signature = ''] = parts;
    const [header, claims] = [head, body].map((part) =>
      JSON.parse(Buffer.from(part, 'base64url').toString()),
    );
    const { alg, typ, kid, ...others } = header;
    if (alg !== 'RS256' || typ !== 'JWT' || kid !== KEY_ID || Object.keys(others).length > 0) {
      return badGrant('Invalid JWT header.');
    }
    const signed = Buffer.from(`${head}.${body}`);
    if (!verify('RSA-SHA256', signed, PAIR.publicKey, Buffer.from(signature, 'base64url'))) {
      return badGrant('Invalid JWT Signature.');
    }
    const { iss, scope, aud, iat, exp, ...unknown } = claims;
    if (iss !== EMAIL || aud !== this.audience || Object.keys(unknown).length > 0) {
      return badGrant('Invalid issuer or audience.');
    }
    if (scope !== 'https://www.googleapis.com/auth/cloud-platform') return badGrant('Bad scope.');
    const now = this.now() / 1000;
    const isInTime = Number.isInteger(iat) && iat <= now && iat > now - 60;
    return isInTime && exp === iat + 3600 ? null : badGrant('Invalid JWT: not a short-lived token');
  }
}
