import { Failure } from '../failure.ts';
import type { Upstream } from '../upstream.ts';
import type { Cancelled } from './cancellation.ts';
import type { Exchange } from './exchange.ts';
import type { NetworkPolicy } from './network-policy.ts';
import { checkPublicUrl } from './public-url.ts';

interface FetchOptions {
  /** Bytes of the body. */
  readonly most: number;
  /** Milliseconds for everything, redirects included. */
  readonly timeout: number;
  /** How many redirects are followed; 5 unless said. */
  readonly redirects?: number;
  readonly network: NetworkPolicy;
  readonly signal: Cancelled;
  /** Sent to the URL's own origin only, whatever it redirects to. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Fetched {
  readonly bytes: Buffer;
  /** As the server says, in lower case without parameters; empty where it says nothing. */
  readonly mediaType: string;
}

const REDIRECTS = [301, 302, 303, 307, 308];

/** Milliseconds that a connection may take. */
const CONNECT = 10_000;

/**
 * Gets what is at an address that somebody from outside gave us. Each address on the way is checked
 * like the first.
 *
 * @throws Failure those of `Upstream.open` and `checkPublicUrl`; `timeout` with code `total_timeout`;
 *   `service_error` with code `fetch_refused` where the answer is no success, `fetch_redirect` where
 *   it leads nowhere, and `upstream_answer_too_large`
 */
export async function fetchPublic(
  upstream: Pick<Upstream, 'open'>,
  text: string,
  { most, timeout, redirects = 5, network, signal, headers = {} }: FetchOptions,
): Promise<Fetched> {
  const end = performance.now() + timeout;
  const first = checkPublicUrl(text, null, network, 'input');
  let url = first;
  let own = headers;
  for (let followed = 0; ; followed += 1) {
    const exchange = await upstream.open(url.href, {
      method: 'GET',
      headers: { 'user-agent': 'Oriel', accept: '*/*', ...own },
      // 0 would be for ever.
      timeouts: {
        connect: CONNECT,
        firstByte: 0,
        idle: 0,
        total: Math.max(1, end - performance.now()),
      },
      reach: network,
      signal,
    });
    try {
      const location = exchange.headers['location'];
      if (!REDIRECTS.includes(exchange.status) || location === undefined) {
        return await read(exchange, url.host, most);
      }
      if (followed === redirects) {
        throw astray(`${first.host} redirects more than ${redirects} times`);
      }
      if (!URL.canParse(location, url.href))
        throw astray(`${url.host} redirects to what is no URL`);
      const next = checkPublicUrl(new URL(location, url).href, null, network, 'input');
      // For good: what another origin sends us back to need not be for its eyes.
      if (next.origin !== url.origin) own = {};
      url = next;
    } finally {
      exchange.abort();
    }
  }
}

async function read(exchange: Exchange, host: string, most: number): Promise<Fetched> {
  const { status, headers } = exchange;
  if (status < 200 || status > 299) {
    throw new Failure('service_error', `${host} answered ${status}`, { code: 'fetch_refused' });
  }
  // Better told now than after the last byte that may come.
  if (Number(headers['content-length']) > most) {
    throw new Failure('service_error', `The answer of ${host} has over ${most} bytes`, {
      code: 'upstream_answer_too_large',
    });
  }
  const bytes = await exchange.bytes(most);
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1);
  return { bytes, mediaType: mediaType.trim().toLowerCase() };
}

function astray(message: string): Failure {
  return new Failure('service_error', message, { code: 'fetch_redirect' });
}
