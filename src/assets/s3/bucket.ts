import { createHash } from 'node:crypto';
import { bucketUnavailable } from '../storage/errors.ts';
import type { ByteRange } from '../storage/local-chunks.ts';
import type { Written } from '../storage/spooled-file.ts';
import { bodyOfBytes, type OpenS3Response, S3Client, type S3ClientOptions } from './client.ts';
import { encodeKey, presignedUrl } from './signature.ts';
import { deletionOf, type ListedObject, readError, readListing } from './xml.ts';

export interface BucketAddress {
  /** Base URL of the service. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Whether the bucket is in the path of URLs and not in the host. */
  readonly forcePathStyle: boolean;
}

export interface BucketOptions extends Omit<S3ClientOptions, 'bucketUrl'>, BucketAddress {
  /** Address that clients reach, for presigned URLs. */
  readonly publicEndpoint: string;
}

/** Facts about an object. */
export type ObjectFacts = Readonly<ReturnType<typeof factsOf>>;

export interface OpenObject extends ObjectFacts, Pick<OpenS3Response, 'response' | 'close'> {}

/** Keys in one request of DeleteObjects. */
const MAX_DELETED = 1000;

/** Header with the SHA-256 of an object that this program stored. */
const SHA256_HEADER = 'x-amz-meta-sha256';

/** The objects of one bucket. Failures are those of `S3Client`. */
export class Bucket {
  readonly #client: S3Client;
  readonly #options: BucketOptions;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#client = new S3Client({ ...options, bucketUrl: bucketUrlOf(options) });
  }

  /** Why the last request failed; null if it did not. */
  get fault(): string | null {
    return this.#client.fault;
  }

  /**
   * Stores an object, whose content the service compares with the checksum.
   *
   * @param options.overwrite whether it replaces an object of the same key
   * @returns false if the key is taken by another object
   */
  async put(
    key: string,
    { bytes, sha256 }: Written,
    open: () => AsyncGenerator<Buffer, void>,
    { signal, overwrite = false }: { signal?: AbortSignal | undefined; overwrite?: boolean } = {},
  ): Promise<boolean> {
    const { status } = await this.#client.send(
      'put',
      {
        method: 'PUT',
        path: pathOf(key),
        headers: {
          'content-type': 'application/octet-stream',
          ...(!overwrite && { 'if-none-match': '*' }),
          'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64'),
          [SHA256_HEADER]: sha256,
        },
        body: { bytes, sha256, open },
        accepted: [200, 412],
      },
      signal,
    );
    if (status !== 412) return true;
    // The response to an earlier attempt may have been lost.
    const found = await this.head(key);
    return found !== null && found.bytes === bytes && found.sha256 === sha256;
  }

  async head(key: string): Promise<ObjectFacts | null> {
    const request = { method: 'HEAD', path: pathOf(key), accepted: [200, 404] } as const;
    const { status, headers } = await this.#client.send('head', request);
    return status === 404 ? null : factsOf(headers);
  }

  /**
   * Opens an object, or a range of it.
   *
   * @param etag the object's, if it must not have changed
   * @returns null if there is no such object; `changed` if it is not the expected one any more
   */
  async get(
    key: string,
    {
      range,
      etag,
      ...options
    }: {
      readonly range: ByteRange | null;
      readonly etag?: string | undefined;
      readonly signal?: AbortSignal | undefined;
      readonly client?: string;
    },
  ): Promise<OpenObject | 'changed' | null> {
    const opened = await this.#client.open(
      'get',
      {
        method: 'GET',
        path: pathOf(key),
        headers: {
          ...(range && { range: `bytes=${range.first}-${range.last}` }),
          ...(etag !== undefined && { 'if-match': etag }),
        },
        accepted: [range ? 206 : 200, 404, 412, 416],
      },
      options,
    );
    const { status, headers, response, close } = opened;
    if (status === 200 || status === 206) return { ...factsOf(headers), response, close };
    close();
    return status === 404 ? null : 'changed';
  }

  /** Deletes objects. Keys without an object are skipped. */
  async delete(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_DELETED) {
      const bytes = Buffer.from(deletionOf(keys.slice(from, from + MAX_DELETED)));
      const md5 = createHash('md5').update(bytes).digest('base64');
      const { body } = await this.#client.send('delete', {
        method: 'POST',
        path: '',
        query: { delete: '' },
        headers: { 'content-type': 'application/xml', 'content-md5': md5 },
        body: bodyOfBytes(bytes),
        accepted: [200],
      });
      const error = readError(body.toString());
      if (error !== null && error.code !== 'NoSuchKey') {
        throw bucketUnavailable(`${error.code}: ${error.message}`);
      }
    }
  }

  /** Lists the objects whose keys have a prefix, in pages. */
  async *list(prefix: string, pageSize = 1000): AsyncGenerator<readonly ListedObject[], void> {
    for (let token: string | null = null; ; ) {
      const { body } = await this.#client.send('list', {
        method: 'GET',
        path: '',
        query: {
          'list-type': '2',
          'max-keys': String(pageSize),
          prefix,
          ...(token !== null && { 'continuation-token': token }),
        },
        accepted: [200],
      });
      const listing = readListing(body.toString());
      if (listing === null) {
        throw bucketUnavailable('the listing has no ListBucketResult');
      }
      yield listing.objects;
      if (listing.next === null) return;
      token = listing.next;
    }
  }

  /** Copies an object. @returns false if there is none */
  async copy(from: string, to: string): Promise<boolean> {
    const { status, body } = await this.#client.send('copy', {
      method: 'PUT',
      path: pathOf(to),
      headers: { 'x-amz-copy-source': `/${this.#options.bucket}${pathOf(from)}` },
      accepted: [200, 404],
    });
    // The service may notice an error after it has sent the status.
    const error = status === 200 ? readError(body.toString()) : null;
    if (error !== null) {
      throw bucketUnavailable(`${error.code}: ${error.message}`);
    }
    return status === 200;
  }

  /** A URL from which an object can be read without credentials. @param mediaType that responses have */
  presign(key: string, mediaType: string, seconds: number): string {
    const { publicEndpoint, region, credentials } = this.#options;
    const url = new URL(bucketUrlOf({ ...this.#options, endpoint: publicEndpoint }) + pathOf(key));
    url.searchParams.set('response-content-type', mediaType);
    url.searchParams.set('response-cache-control', 'public, max-age=31536000, immutable');
    return presignedUrl(url, seconds, { region, credentials: credentials() });
  }
}

function bucketUrlOf({ endpoint, bucket, forcePathStyle }: BucketAddress): string {
  if (forcePathStyle) return `${endpoint}/${bucket}`;
  const { protocol, host } = new URL(endpoint);
  return `${protocol}//${bucket}.${host}`;
}

function pathOf(key: string): string {
  return `/${encodeKey(key)}`;
}

function factsOf(headers: Readonly<Record<string, string>>) {
  const [, whole] = /\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  return {
    /** Bytes of the whole object. */
    bytes: Number(whole ?? headers['content-length']),
    etag: headers['etag'] ?? '',
    /** SHA-256 that was stored with it, hexadecimal; null if another program stored it. */
    sha256: headers[SHA256_HEADER] ?? null,
  };
}
