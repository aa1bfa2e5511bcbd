import { type SignatureScope, sign } from '../../upstream/aws/signature.ts';

interface SignedRequest {
  readonly method: string;
  /** Headers by lower-case name. `x-amz-content-sha256` is the SHA-256 of the body, in hexadecimal. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Signs a request with AWS Signature Version 4:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 *
 * @returns the URL and the headers to send; the query is in the canonical order and encoding
 */
export function signedRequest(url: URL, { method, headers }: SignedRequest, scope: SignatureScope) {
  // aws4 leaves the range out, although it decides what is sent.
  const s3 = { service: 's3', extraHeadersToInclude: { range: true } };
  const signed = sign(url, { ...s3, method, headers: { ...headers } }, scope);
  return {
    url: url.origin + signed.path!,
    headers: signed.headers as Readonly<Record<string, string>>,
  };
}

/**
 * A URL that is valid for some time without headers:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 *
 * @param seconds for which the URL is valid, a week at most
 */
export function presignedUrl(url: URL, seconds: number, scope: SignatureScope): string {
  const expiring = new URL(url);
  expiring.searchParams.set('X-Amz-Expires', String(seconds));
  const request = { service: 's3', method: 'GET', signQuery: true };
  return url.origin + sign(expiring, request, scope).path!;
}

/** Encodes the key of an object by RFC 3986, except for its slashes. */
export function encodeKey(key: string): string {
  return encodeURIComponent(key)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2F', '/');
}
