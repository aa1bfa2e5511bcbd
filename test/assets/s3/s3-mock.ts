/** An S3 service in memory, which fails as tests demand. Signatures are checked as S3 defines them. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { signedRequest } from '../../../src/assets/s3/signature.ts';

export const MOCK_CREDENTIALS = { accessKeyId: 'mock', secretAccessKey: 'mock/secret' } as const;
export const MOCK_REGION = 'test-1';

interface MockObject {
  readonly content: Buffer;
  readonly sha256: string | undefined;
  readonly modifiedAt: number;
}

export interface MockRequest {
  readonly method: string;
  /** Path below the bucket, without its slash. */
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

/** Answers in place of the service; returns false to let it answer. */
export type MockFault = (
  request: MockRequest,
  response: ServerResponse,
) => boolean | Promise<boolean>;

export interface S3Mock {
  readonly endpoint: string;
  readonly objects: Map<string, MockObject>;
  readonly requests: MockRequest[];
  fault: MockFault;
  put(key: string, content: Buffer, modifiedAt?: number): void;
}

export function sendError(response: ServerResponse, status: number, code: string): true {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>No</Message></Error>`);
  return true;
}

const sha256Of = (content: Buffer) => createHash('sha256').update(content).digest('hex');
export const etagOf = (content: Buffer) => `"${createHash('md5').update(content).digest('hex')}"`;

/** Whether the headers that a request says it signed give the signature that it has. */
function isSigned({ method, headers }: MockRequest, url: URL): boolean {
  const [, names = '', signature] =
    /SignedHeaders=([^,]*), Signature=(\w+)$/.exec(headers['authorization'] ?? '') ?? [];
  const stamp = String(headers['x-amz-date']);
  const time = Date.parse(stamp.replace(/^(....)(..)(..T..)(..)(..)Z$/, '$1-$2-$3:$4:$5Z'));
  if (Math.abs(Date.now() - time) > 900_000) return false;
  const signed = names.split(';');
  if (Object.keys(headers).some((name) => name.startsWith('x-amz-') && !names.includes(name))) {
    return false;
  }
  const own = Object.fromEntries(signed.map((name) => [name, String(headers[name])]));
  const scope = { credentials: MOCK_CREDENTIALS, region: MOCK_REGION };
  const expected = signedRequest(url, { method, headers: own }, scope);
  return expected.headers['Authorization']!.endsWith(`Signature=${signature}`);
}

/** Starts the service with the one bucket `bucket`, for URLs with the bucket in the path. */
export async function startS3Mock(
  listen: (listener: RequestListener) => Promise<{ readonly url: string }>,
): Promise<S3Mock> {
  const objects = new Map<string, MockObject>();
  const requests: MockRequest[] = [];
  const { url: endpoint } = await listen((incoming, response) => {
    const url = new URL(incoming.url!, endpoint);
    const request = {
      method: incoming.method!,
      key: decodeURIComponent(url.pathname).replace(/^\/bucket\/?/, ''),
      query: url.searchParams,
      headers: incoming.headers,
    };
    requests.push(request);
    void answer(request, url, incoming, response);
  });

  async function answer(
    request: MockRequest,
    url: URL,
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (await mock.fault(request, response)) return;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (!isSigned(request, url)) return void sendError(response, 403, 'SignatureDoesNotMatch');
    if (sha256Of(body) !== request.headers['x-amz-content-sha256']) {
      return void sendError(response, 400, 'XAmzContentSHA256Mismatch');
    }
    const { key, method } = request;
    if (method === 'PUT') return put(request, body, response);
    if (method === 'POST') return deleteAll(body, response);
    if (key === '') return list(request, response);
    get(request, response);
  }

  function put({ key, headers }: MockRequest, body: Buffer, response: ServerResponse): void {
    const source = headers['x-amz-copy-source'];
    if (source !== undefined) {
      const copied = objects.get(decodeURIComponent(String(source)).replace('/bucket/', ''));
      if (copied === undefined) return void sendError(response, 404, 'NoSuchKey');
      objects.set(key, { ...copied, modifiedAt: Date.now() });
      response.end('<CopyObjectResult></CopyObjectResult>');
      return;
    }
    if (headers['if-none-match'] === '*' && objects.has(key)) {
      return void sendError(response, 412, 'PreconditionFailed');
    }
    const checksum = Buffer.from(sha256Of(body), 'hex').toString('base64');
    if (headers['x-amz-checksum-sha256'] !== checksum) {
      return void sendError(response, 400, 'BadDigest');
    }
    const sha256 = String(headers['x-amz-meta-sha256']);
    objects.set(key, { content: body, sha256, modifiedAt: Date.now() });
    response.writeHead(200, { etag: etagOf(body) }).end();
  }

  function get({ key, method, headers }: MockRequest, response: ServerResponse): void {
    const found = objects.get(key);
    if (found === undefined) return void sendError(response, 404, 'NoSuchKey');
    const { content, sha256 } = found;
    const etag = etagOf(content);
    if (headers['if-match'] !== undefined && headers['if-match'] !== etag) {
      return void sendError(response, 412, 'PreconditionFailed');
    }
    const more = { etag, ...(sha256 !== undefined && { 'x-amz-meta-sha256': sha256 }) };
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    if (first !== undefined && Number(first) >= content.length) {
      return void sendError(response, 416, 'InvalidRange');
    }
    const end = Math.min(Number(last), content.length - 1);
    const part = first === undefined ? content : content.subarray(Number(first), end + 1);
    response.writeHead(first === undefined ? 200 : 206, {
      ...more,
      'content-length': part.length,
      ...(first !== undefined && { 'content-range': `bytes ${first}-${end}/${content.length}` }),
    });
    response.end(method === 'HEAD' ? undefined : part);
  }

  function deleteAll(body: Buffer, response: ServerResponse): void {
    for (const [, key] of body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)) objects.delete(key!);
    response.end('<?xml version="1.0"?><DeleteResult></DeleteResult>');
  }

  function list({ query }: MockRequest, response: ServerResponse): void {
    const after = query.get('continuation-token') ?? '';
    const limit = Number(query.get('max-keys'));
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix')!) && key > after)
      .sort();
    const page = keys.slice(0, limit);
    const contents = page.map((key) => {
      const modified = new Date(objects.get(key)!.modifiedAt).toISOString();
      return `<Contents><Key>${key}</Key><LastModified>${modified}</LastModified></Contents>`;
    });
    const isTruncated = keys.length > page.length;
    const token = isTruncated
      ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>`
      : '';
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${token}${contents.join('')}</ListBucketResult>`,
    );
  }

  const mock: S3Mock = {
    endpoint,
    objects,
    requests,
    fault: () => false,
    put: (key, content, modifiedAt = Date.now()) =>
      objects.set(key, { content, sha256: undefined, modifiedAt }),
  };
  return mock;
}
