import { Failure } from '../failure.ts';
import type { AbortSignalLike } from './abort-signal.ts';
import type { UpstreamClient } from './client.ts';
import type { NetworkPolicy } from './network-policy.ts';
import { checkPublicUrl } from './public-url.ts';
import type { UpstreamResponse } from './response.ts';

interface FetchOptions {
  /** Bytes that the body may have. */
  readonly maxBytes: number;
  /** Milliseconds for everything, redirects included. */
  readonly timeout: number;
  /** Redirects that are followed; 5 by default. */
  readonly maxRedirects?: number;
  readonly networkPolicy: NetworkPolicy;
  readonly signal: AbortSignalLike;
  /** Headers for the URL's own origin; other origins that it redirects to do not get them. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface FetchedFile {
  readonly bytes: Buffer;
  /** Content type in lower case without parameters; empty where the server sends none. */
  readonly mediaType: string;
}

const REDIRECT_STATUSES = [301, 302, 303, 307, 308];

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Fetches a URL that a client chose. Every redirect target is checked like the first URL.
 *
 * @throws Failure those of `UpstreamClient.open` and `checkPublicUrl`; `timeout` with code
 *   `total_timeout`; `service_error` with code `fetch_refused` where the status is none of success,
 *   `fetch_redirect` where a redirect is invalid or one too many, and `upstream_answer_too_large`
 */
export async function fetchPublic(
  upstream: Pick<UpstreamClient, 'open'>,
  text: string,
  { maxBytes, timeout, maxRedirects = 5, networkPolicy, signal, headers = {} }: FetchOptions,
): Promise<FetchedFile> {
  const deadline = performance.now() + timeout;
  const first = checkPublicUrl(text, null, networkPolicy, 'input');
  let url = first;
  let originHeaders = headers;
  for (let redirects = 0; ; redirects += 1) {
    const response = await upstream.open(url.href, {
      method: 'GET',
      headers: { 'user-agent': 'Oriel', accept: '*/*', ...originHeaders },
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
        return await readBody(response, url.host, maxBytes);
      }
      if (redirects === maxRedirects) {
        throw redirectFailure(`${first.host} redirects more than ${maxRedirects} times`);
      }
      if (!URL.canParse(location, url.href))
        throw redirectFailure(`${url.host} redirects to what is no URL`);
      const next = checkPublicUrl(new URL(location, url).href, null, networkPolicy, 'input');
      // Dropped for good: another origin that redirects back may have chosen the path.
      if (next.origin !== url.origin) originHeaders = {};
      url = next;
    } finally {
      response.abort();
    }
  }
}

async function readBody(
  response: UpstreamResponse,
  host: string,
  maxBytes: number,
): Promise<FetchedFile> {
  const { status, headers } = response;
  if (status < 200 || status > 299) {
    throw new Failure('service_error', `${host} answered ${status}`, { code: 'fetch_refused' });
  }
  // Rejects before the body is downloaded.
  if (Number(headers['content-length']) > maxBytes) {
    throw new Failure('service_error', `The answer of ${host} has over ${maxBytes} bytes`, {
      code: 'upstream_answer_too_large',
    });
  }
  const bytes = await response.bytes(maxBytes);
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1);
  return { bytes, mediaType: mediaType.trim().toLowerCase() };
}

function redirectFailure(message: string): Failure {
  return new Failure('service_error', message, { code: 'fetch_redirect' });
}
