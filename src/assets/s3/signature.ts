import { createHash, createHmac } from 'node:crypto';

/** Credentials of an account at an S3 service. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined;
}

/** What a signature is valid for. */
export interface SignatureScope {
  readonly credentials: S3Credentials;
  readonly region: string;
  /** `s3`, by default. */
  readonly service?: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

export interface SignedRequest {
  readonly method: string;
  /** `examplebucket.s3.amazonaws.com`, with a port if the URL has one. */
  readonly host: string;
  /** Path as it is sent, encoded. */
  readonly path: string;
  /** Parameters of the query, not encoded. */
  readonly query?: Readonly<Record<string, string>>;
  /** Headers by lower-case name; all of them are signed. */
  readonly headers?: Readonly<Record<string, string>>;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** SHA-256 of the empty text, in hexadecimal. */
export const EMPTY_SHA256 = createHash('sha256').digest('hex');

/**
 * The headers of a request with AWS Signature Version 4:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 *
 * @param payloadSha256 SHA-256 of the body, in hexadecimal
 * @returns those of the request and `authorization`; without `host`, which the client sends
 */
export function signedHeaders(
  request: SignedRequest,
  payloadSha256: string,
  scope: SignatureScope,
): Readonly<Record<string, string>> {
  const { sessionToken } = scope.credentials;
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-date': timestampOf(scope.time),
    ...(sessionToken && { 'x-amz-security-token': sessionToken }),
  };
  const signature = signatureOf(
    { ...request, headers: { ...headers, host: request.host } },
    payloadSha256,
    scope,
  );
  const names = Object.keys({ ...headers, host: '' }).sort();
  const credential = `${scope.credentials.accessKeyId}/${scopeOf(scope)}`;
  headers['authorization'] =
    `${ALGORITHM} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return headers;
}

/**
 * The query of a URL that is valid for some time without headers:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 *
 * @param seconds for which the URL is valid, a week at most
 */
export function presignedQuery(
  { host, ...request }: SignedRequest,
  seconds: number,
  scope: SignatureScope,
): string {
  const { accessKeyId, sessionToken } = scope.credentials;
  const query = {
    ...request.query,
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${accessKeyId}/${scopeOf(scope)}`,
    'X-Amz-Date': timestampOf(scope.time),
    'X-Amz-Expires': String(seconds),
    'X-Amz-SignedHeaders': 'host',
    ...(sessionToken && { 'X-Amz-Security-Token': sessionToken }),
  };
  const signed = { ...request, query, host, headers: { host } };
  return `${queryOf(query)}&X-Amz-Signature=${signatureOf(signed, 'UNSIGNED-PAYLOAD', scope)}`;
}

/** Parameters in the canonical order and encoding, which is sent as well. */
export function queryOf(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
}

/** Encodes everything but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Encodes the key of an object, except for its slashes. */
export function encodeKey(key: string): string {
  return key.split('/').map(encode).join('/');
}

/** @param request `headers` include `host` */
function signatureOf(
  { method, path, query = {}, headers = {} }: SignedRequest,
  payloadSha256: string,
  scope: SignatureScope,
): string {
  const names = Object.keys(headers).sort();
  const canonicalRequest = [
    method,
    path,
    queryOf(query),
    ...names.map((name) => `${name}:${headers[name]!.trim().replace(/ {2,}/g, ' ')}`),
    '',
    names.join(';'),
    payloadSha256,
  ].join('\n');
  const text = [
    ALGORITHM,
    timestampOf(scope.time),
    scopeOf(scope),
    createHash('sha256').update(canonicalRequest).digest('hex'),
  ].join('\n');
  return hmac(signingKeyOf(scope), text).toString('hex');
}

function signingKeyOf({ credentials, region, service = 's3', time }: SignatureScope): Buffer {
  const day = hmac(`AWS4${credentials.secretAccessKey}`, timestampOf(time).slice(0, 8));
  return hmac(hmac(hmac(day, region), service), 'aws4_request');
}

function scopeOf({ region, service = 's3', time }: SignatureScope): string {
  return `${timestampOf(time).slice(0, 8)}/${region}/${service}/aws4_request`;
}

/** `20130524T000000Z` */
function timestampOf(time: number): string {
  return new Date(time).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
