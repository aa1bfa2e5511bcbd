import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { FairSemaphore, type Release } from '../../fair-semaphore.ts';
import { waitBeforeRetry } from '../../routing/backoff.ts';
import { CircuitBreakers } from '../../routing/circuit-breaker.ts';
import type { SignatureScope } from '../../upstream/aws/signature.ts';
import type { Upstream, UpstreamResponse } from '../../upstream/response.ts';
import { bucketUnavailable } from '../storage/errors.ts';
import { AttemptError, attemptErrorOf, statusError } from './attempt-error.ts';
import { signedRequest } from './signature.ts';

/** Names of operations, for metrics. */
export type S3Operation = 'put' | 'get' | 'head' | 'delete' | 'list' | 'copy';

export interface S3ClientOptions {
  readonly upstream: Upstream;
  /** Base URL of the bucket, without a slash at its end. */
  readonly bucketUrl: string;
  readonly region: string;
  /** Read for every request, since they may be renewed. */
  readonly credentials: () => SignatureScope['credentials'];
  /** Milliseconds until a connection is open. */
  readonly connectTimeout: number;
  /** Milliseconds until a response begins after the body was sent, and between two chunks of it. */
  readonly timeout: number;
  /** Requests at once. */
  readonly connections: number;
  /**
   * Called after every attempt.
   *
   * @param outcome `ok`, or the code of the failure
   */
  readonly onAttempt: (operation: S3Operation, outcome: string, milliseconds: number) => void;
}

/** A body that can be sent again. */
export interface S3Body {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly open: () => Buffer | AsyncGenerator<Buffer, void>;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Encoded path of an object with a slash before it; empty for the bucket. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
  /** Statuses that are no failures. */
  readonly accepted: readonly number[];
}

/** A response whose body is still to come. `close` ends it, and must be called. */
export interface OpenS3Response extends Pick<UpstreamResponse, 'status' | 'headers'> {
  readonly response: UpstreamResponse;
  close(): void;
}

export interface S3Response extends Pick<UpstreamResponse, 'status' | 'headers'> {
  readonly body: Buffer;
}

const MAX_ATTEMPTS = 4;
/** The service names no time for a retry: the backoff alone counts. */
const AT_ONCE = { retryAfter: null };

/** The slowest rate at which bodies may be sent, in bytes a second. */
const SLOWEST_BYTES_PER_SECOND = 256 * 1024;

/** Bytes of a response that is read whole: of listings with 1,000 keys of 1,024 bytes, encoded. */
const MAX_RESPONSE_BYTES = 8 * 2 ** 20;

/** Consecutive failures after which requests fail at once, and for how long, in milliseconds. */
const CIRCUIT = { after: 5, for: 5000 };

/** SHA-256 of the empty text, in hexadecimal. */
const EMPTY_SHA256 = createHash('sha256').digest('hex');

/** No account chooses what is sent to the bucket, so that all of them share the circuit. */
const ANY_ACCOUNT = '';

/** Share of the connections that downloads may take: slow readers must not keep results from being stored. */
const DOWNLOAD_SHARE = 0.75;

/**
 * Sends signed requests to one bucket. Retries what may pass; after several failures in a row, requests
 * fail at once for a while. Redirects are not followed.
 */
export class S3Client {
  readonly #options: S3ClientOptions;
  readonly #circuit = new CircuitBreakers();
  readonly #slots: FairSemaphore;
  readonly #downloads: FairSemaphore;
  /** Of requests without a signal. */
  readonly #never = new AbortController().signal;
  /** The failure of the last attempt; null after a success. */
  #fault: string | null = null;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    setMaxListeners(0, this.#never);
    this.#slots = new FairSemaphore(options.connections);
    this.#downloads = new FairSemaphore(Math.ceil(options.connections * DOWNLOAD_SHARE));
  }

  /** Why the last request failed, for the operator; null if it did not. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Sends a request and reads the response. @throws Failure `storage_unavailable`; the signal's reason */
  async send(
    operation: S3Operation,
    request: S3Request,
    signal: AbortSignal = this.#never,
  ): Promise<S3Response> {
    return this.#retrying(operation, signal, async () => {
      const release = await this.#acquire(this.#slots, '', signal);
      try {
        const response = await this.#open(request, signal);
        const body = await response.bytes(MAX_RESPONSE_BYTES);
        if (!request.accepted.includes(response.status)) throw statusError(response.status, body);
        // DeleteObjects reports errors of objects with status 200.
        return { status: response.status, headers: response.headers, body };
      } finally {
        release();
      }
    });
  }

  /**
   * Sends a request whose response may be large.
   *
   * @param client whose download it is: clients get connections in turn
   */
  async open(
    operation: S3Operation,
    request: S3Request,
    {
      signal = this.#never,
      client = '',
    }: { readonly signal?: AbortSignal | undefined; readonly client?: string },
  ): Promise<OpenS3Response> {
    return this.#retrying(operation, signal, async () => {
      const releaseDownload = await this.#acquire(this.#downloads, client, signal);
      let releaseSlot: Release = () => {};
      const release = () => {
        releaseSlot();
        releaseDownload();
      };
      try {
        releaseSlot = await this.#acquire(this.#slots, client, signal);
        const response = await this.#open(request, signal);
        const { status, headers } = response;
        if (!request.accepted.includes(status)) {
          throw statusError(status, await response.bytes(MAX_RESPONSE_BYTES));
        }
        const close = () => {
          response.abort();
          release();
        };
        return { status, headers, response, close };
      } catch (error) {
        release();
        throw error;
      }
    });
  }

  async #retrying<Result>(
    operation: S3Operation,
    signal: AbortSignal,
    attempt: () => Promise<Result>,
  ): Promise<Result> {
    const deadline = performance.now() + this.#options.timeout;
    for (let attempts = 1; ; attempts += 1) {
      const cooldown = this.#circuit.remainingCooldown('', ANY_ACCOUNT);
      if (cooldown > 0)
        throw bucketUnavailable(this.#fault ?? '', undefined, Math.ceil(cooldown / 1000));
      const report = this.#circuit.begin('', CIRCUIT, ANY_ACCOUNT);
      const startedAt = performance.now();
      const observe = (outcome: string) =>
        this.#options.onAttempt(operation, outcome, performance.now() - startedAt);
      try {
        const result = await attempt();
        report(true);
        observe('ok');
        this.#fault = null;
        return result;
      } catch (error) {
        if (signal.aborted) {
          report(null);
          observe('aborted');
          throw signal.reason;
        }
        const failed = attemptErrorOf(error);
        const { code, isTransient, isOutage } = failed.fault;
        report(isOutage ? false : null);
        observe(code);
        this.#fault = failed.message;
        const failure = bucketUnavailable(failed.message, failed);
        const mayRetry = isTransient && attempts < MAX_ATTEMPTS;
        if (!mayRetry || !(await waitBeforeRetry(attempts, AT_ONCE, { signal, deadline }))) {
          throw failure;
        }
      }
    }
  }

  async #acquire(slots: FairSemaphore, client: string, signal: AbortSignal): Promise<Release> {
    if (slots.acquired < this.#options.connections * DOWNLOAD_SHARE && slots.waiting === 0) {
      return slots.acquire(client);
    }
    const timeout = AbortSignal.timeout(this.#options.timeout);
    return slots.acquire(client, AbortSignal.any([signal, timeout])).catch((error: unknown) => {
      if (!timeout.aborted) throw error;
      const fault = { code: 'connections', isTransient: false, isOutage: false };
      throw new AttemptError('all connections are in use', fault);
    });
  }

  async #open(request: S3Request, signal: AbortSignal): Promise<UpstreamResponse> {
    const { upstream, bucketUrl, region, credentials, connectTimeout, timeout } = this.#options;
    const { method, path, query = {}, body } = request;
    const url = new URL(`${bucketUrl}${path === '' ? '/' : path}`);
    url.search = String(new URLSearchParams(query));
    const sha256 = body?.sha256 ?? EMPTY_SHA256;
    const signed = signedRequest(
      url,
      { method, headers: { ...request.headers, 'x-amz-content-sha256': sha256 } },
      { region, credentials: credentials() },
    );
    const content = body?.open();
    try {
      return await upstream.open(signed.url, {
        name: 'the S3 service',
        method,
        headers: { ...signed.headers, ...(body && { 'content-length': String(body.bytes) }) },
        ...(content && { body: content }),
        timeouts: {
          connect: connectTimeout,
          firstByte: timeout + ((body?.bytes ?? 0) * 1000) / SLOWEST_BYTES_PER_SECOND,
          idle: timeout,
          total: 0,
        },
        signal,
      });
    } finally {
      // Closes the file of a body that was not sent to its end. undici leaves that to its caller.
      if (content && 'return' in content) content.return().catch(() => {});
    }
  }
}

/** A body in memory. */
export function bodyOfBytes(bytes: Buffer): S3Body {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes: bytes.length, sha256, open: () => bytes };
}
