import aws4 from 'aws4';
import type { UpstreamRequest } from '../request.ts';

/** Credentials of an AWS account, or of an account at a service that signs like AWS. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined;
}

export interface SignatureScope {
  readonly credentials: AwsCredentials;
  readonly region: string;
}

/**
 * Signs a request with AWS Signature Version 4:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 *
 * For all services but S3, the path that is signed is encoded once more than the path that is sent.
 *
 * @param request its method, headers, body and the service, such as `bedrock`
 */
export function sign(url: URL, request: aws4.Request, { region, credentials }: SignatureScope) {
  const { host, pathname, search } = url;
  const { sessionToken, ...keys } = credentials;
  return aws4.sign(
    { ...request, region, host, path: pathname + search },
    { ...keys, ...(sessionToken !== undefined && { sessionToken }) },
  );
}

/**
 * The headers that a signature over method, URL, content type and body adds: proxies may change all other headers.
 *
 * @param request whose body is a text
 */
export function signatureHeaders(
  url: string,
  service: string,
  {
    method = 'POST',
    body,
    headers: { 'content-type': type },
  }: Pick<UpstreamRequest, 'method' | 'body' | 'headers'>,
  scope: SignatureScope,
): Record<string, string> {
  const headers = type === undefined ? {} : { 'content-type': type };
  const signed = sign(new URL(url), { service, method, body: String(body ?? ''), headers }, scope);
  const { Host: _, 'Content-Length': __, ...added } = signed.headers as Record<string, string>;
  return added;
}
