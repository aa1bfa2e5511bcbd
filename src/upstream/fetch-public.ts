import { codedFailure, type Failure } from '../failure.ts';
import type { AbortSignalLike } from './abort-signal.ts';
import type { NetworkPolicy } from './network-policy.ts';
import { checkPublicUrl } from './public-url.ts';
import type { Upstream, UpstreamResponse } from './response.ts';

interface FetchOptions {
  /** Bytes that the body may have. */
  readonly maxBytes: number;
  /** Milliseconds for everything, redirects included. */
  readonly timeout: number;
  readonly networkPolicy: NetworkPolicy;
  readonly signal: AbortSignalLike;
  /** Called with the first URL and each redirect target. @throws for one that is not allowed */
  readonly check?: (url: URL) => void;
  /** Waits for the memory of a body before it is read. @param bytes its size, or else `maxBytes` */
  readonly admit?: (bytes: number) => Promise<void>;
}

export const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
export const MAX_REDIRECTS = 5;

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Fetches a URL that a client chose. Every redirect target is checked like the first URL.
 *
 * @throws Failure those of `UpstreamClient.open` and `checkPublicUrl`; `timeout` with code
 *   `total_timeout`; `service_error` with code `fetch_refused` where the status is none of success,
 *   `fetch_redirect` where a redirect is invalid or one too many, and `upstream_answer_too_large`
 */
export async function fetchPublic(
  upstream: Upstream,
  text: string,
  options: FetchOptions,
): Promise<Buffer> {
  const { timeout, networkPolicy, signal, check } = options;
  const deadline = performance.now() + timeout;
  const first = checkPublicUrl(text, null, networkPolicy, 'input');
  let url = first;
  for (let redirects = 0; ; redirects += 1) {
    check?.(url);
    const response = await upstream.open(url.href, {
      exchange: { model: 'inputs', path: url.hostname + url.pathname + url.search },
      method: 'GET',
      headers: { 'user-agent': 'Oriel', accept: '*/*' },
      timeouts: {
        connect: CONNECT_TIMEOUT_MS,
        firstByte: 0,
        idle: 0,
        // 0 would mean no limit.
        total: Math.max(1, deadline - performance.now()),
      },
      networkPolicy,
      signal,
    });
    try {
      const location = response.headers['location'];
      if (!REDIRECT_STATUSES.includes(response.status) || location === undefined) {
        return await readBody(response, url.host, options);
      }
      if (redirects === MAX_REDIRECTS) {
        throw redirectFailure(`${first.host} redirects more than ${MAX_REDIRECTS} times`);
      }
      if (!URL.canParse(location, url.href)) {
        throw redirectFailure(`${url.host} redirects to an invalid URL`);
      }
      url = checkPublicUrl(new URL(location, url).href, null, networkPolicy, 'input');
    } finally {
      response.abort();
    }
  }
}

async function readBody(
  response: UpstreamResponse,
  host: string,
  { maxBytes, admit }: FetchOptions,
): Promise<Buffer> {
  const { status, headers } = response;
  if (status < 200 || status > 299) {
    throw codedFailure('fetch_refused', `${host} answered ${status}`, { upstreamStatus: status });
  }
  // Rejects before the body is downloaded.
  const length = Number(headers['content-length']);
  if (length > maxBytes) {
    throw codedFailure(
      'upstream_answer_too_large',
      `The answer of ${host} has over ${maxBytes} bytes`,
    );
  }
  await admit?.(Number.isNaN(length) ? maxBytes : length);
  return response.bytes(maxBytes);
}

function redirectFailure(message: string): Failure {
  return codedFailure('fetch_redirect', message);
}
