import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Failure } from '../../failure.ts';
import { FairSemaphore, type Release } from '../../fair-semaphore.ts';
import { waitBeforeRetry } from '../../routing/backoff.ts';
import { CircuitBreakers } from '../../routing/circuit-breaker.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import { bucketUnavailable } from '../storage/errors.ts';
import { EMPTY_SHA256, queryOf, type S3Credentials, signedHeaders } from './signature.ts';
import { readError } from './xml.ts';

/** Names of operations, for metrics. */
export type S3Operation = 'put' | 'get' | 'head' | 'delete' | 'list' | 'copy';

export interface S3ClientOptions {
  readonly upstream: Pick<UpstreamClient, 'open'>;
  /** Base URL of the bucket, without a slash at its end. */
  readonly bucketUrl: string;
  readonly region: string;
  /** Read for every request, since they may be renewed. */
  readonly credentials: () => S3Credentials;
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

/** No account chooses what is sent to the bucket, so that all of them share the circuit. */
const ANY_ACCOUNT = '';

/** Share of the connections that downloads may take: slow readers must not keep results from being stored. */
const DOWNLOAD_SHARE = 0.75;

/** Error codes of services that a retry may overcome, beside those of statuses from 500. */
const TRANSIENT_CODES = new Set([
  'SlowDown',
  'RequestTimeout',
  'OperationAborted',
  'ConditionalRequestConflict',
]);
const TRANSIENT_STATUSES = new Set([408, 429]);

/** A failed attempt. */
class AttemptError extends Error {
  /** For metrics: `slow_down`, `timeout`, `access_denied`. */
  readonly code: string;
  /** Whether the service is overloaded or away, which another attempt may overcome. */
  readonly isTransient: boolean;
  /** Whether the failure says that the service does not work. */
  readonly isOutage: boolean;

  constructor(
    message: string,
    { code, isTransient, isOutage }: Pick<AttemptError, 'code' | 'isTransient' | 'isOutage'>,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.code = code;
    this.isTransient = isTransient;
    this.isOutage = isOutage;
  }
}

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
        checkStatus(request, response, body);
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
          checkStatus(request, response, await response.bytes(MAX_RESPONSE_BYTES));
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
        const fault = attemptErrorOf(error);
        report(fault.isOutage ? false : null);
        observe(fault.code);
        this.#fault = fault.message;
        const failure = bucketUnavailable(fault.message, fault);
        const mayRetry = fault.isTransient && attempts < MAX_ATTEMPTS;
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
      throw timeout.aborted
        ? new AttemptError('all connections are in use', {
            code: 'connections',
            isTransient: false,
            isOutage: false,
          })
        : error;
    });
  }

  async #open(request: S3Request, signal: AbortSignal): Promise<UpstreamResponse> {
    const { upstream, bucketUrl, region, credentials, connectTimeout, timeout } = this.#options;
    const { method, path, query = {}, body } = request;
    const url = new URL(`${bucketUrl}${path === '' ? '/' : path}`);
    const sha256 = body?.sha256 ?? EMPTY_SHA256;
    const headers = signedHeaders(
      {
        method,
        host: url.host,
        path: url.pathname,
        query,
        headers: { ...request.headers, 'x-amz-content-sha256': sha256 },
      },
      sha256,
      { region, credentials: credentials(), time: Date.now() },
    );
    const search = queryOf(query);
    const content = body?.open();
    try {
      return await upstream.open(
        `${url.origin}${url.pathname}${search === '' ? '' : `?${search}`}`,
        {
          name: 'the S3 service',
          method,
          headers: {
            ...headers,
            ...(body && { 'content-length': String(body.bytes) }),
          },
          ...(content && { body: content }),
          timeouts: {
            connect: connectTimeout,
            firstByte: timeout + ((body?.bytes ?? 0) * 1000) / SLOWEST_BYTES_PER_SECOND,
            idle: timeout,
            total: 0,
          },
          signal,
        },
      );
    } finally {
      // Closes the file of a body that was not sent to its end. undici leaves that to its caller.
      if (content && 'return' in content) content.return().catch(() => {});
    }
  }
}

function checkStatus({ accepted }: S3Request, { status }: UpstreamResponse, body: Buffer): void {
  if (accepted.includes(status)) return;
  const error = readError(body.toString());
  // HEAD has no body.
  const code = error?.code ?? `status ${status}`;
  const isTransient =
    status >= 500 || TRANSIENT_STATUSES.has(status) || TRANSIENT_CODES.has(error?.code ?? '');
  const hint = status >= 300 && status < 400 ? ': the endpoint or the region is another' : '';
  throw new AttemptError(`${status} ${code}${hint}${error?.message ? `: ${error.message}` : ''}`, {
    code: error === null ? `status_${status}` : snakeCase(error.code),
    isTransient,
    isOutage: isTransient,
  });
}

function snakeCase(code: string): string {
  return code
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '')
    .slice(0, 64);
}

function attemptErrorOf(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  if (!(error instanceof Failure)) {
    const code = 'defect';
    return new AttemptError(String(error), { code, isTransient: false, isOutage: false }, error);
  }
  const message = error.detail === null ? error.message : `${error.message} (${error.detail})`;
  // A service that takes too long is not asked again within the same request.
  const isTransient = error.type === 'network_error';
  return new AttemptError(
    message,
    { code: error.code ?? error.type, isTransient, isOutage: true },
    error,
  );
}

/** A body in memory. */
export function bodyOfBytes(bytes: Buffer): S3Body {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes: bytes.length, sha256, open: () => bytes };
}
