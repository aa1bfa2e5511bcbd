import { Failure } from '../../failure.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';

export interface DownloadOptions {
  readonly upstream: UpstreamClient;
  /** Where the provider is, which the operator chose; null where it is nowhere. */
  readonly home: string | null;
  /** Where files may be that are not at home. */
  readonly network: NetworkPolicy;
  readonly timeouts: Timeouts;
  readonly signal: AbortSignalLike;
}

/** The code of a failure that another try may get over. */
const UNAVAILABLE = 'download_unavailable';

const REDIRECTS = [301, 302, 303, 307, 308];
const MOST_REDIRECTS = 5;

/** Statuses that may be another ones a second later; storages know new files a moment late. */
const PASSING = [404, 408, 425, 429];

/**
 * Opens what a provider has put at an address. At home the provider is reached directly and gets its
 * headers; every other address is one that somebody from outside gave us.
 *
 * @returns the answer, a success, its body still to come
 * @throws Failure
 */
export async function openDownload(
  text: string,
  headers: Readonly<Record<string, string>>,
  { upstream, home, network, timeouts, signal }: DownloadOptions,
): Promise<UpstreamResponse> {
  let address = text;
  let away = false;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const isHome = home !== null && URL.canParse(address) && new URL(address).origin === home;
    const url = isHome ? new URL(address) : elsewhere(address, network);
    // For good: where another origin sends us back to was not the provider's choice.
    away ||= !isHome;
    const opening = upstream.open(url.href, {
      // Where a provider keeps its files is not for clients to know.
      ...(home !== null && { name: 'The server of the file' }),
      method: 'GET',
      headers: away ? {} : headers,
      timeouts,
      signal,
      ...(away && { networkPolicy: network }),
    });
    const exchange = await opening.catch((error: unknown) => {
      throw error instanceof Failure ? withoutAddress(error) : error;
    });
    const { status } = exchange;
    if (status === 200) return exchange;
    exchange.abort();
    const location = exchange.headers['location'];
    if (
      !REDIRECTS.includes(status) ||
      location === undefined ||
      !URL.canParse(location, url.href)
    ) {
      const passing = PASSING.includes(status) || status >= 500;
      throw new Failure('service_error', `its address answered ${status}`, {
        code: passing ? UNAVAILABLE : 'download_refused',
      });
    }
    address = new URL(location, url).href;
  }
  throw new Failure('service_error', `its address redirects more than ${MOST_REDIRECTS} times`, {
    code: 'download_refused',
  });
}

function elsewhere(address: string, network: NetworkPolicy): URL {
  try {
    return checkPublicUrl(address, null, network, 'result');
  } catch (error) {
    throw error instanceof Failure ? withoutAddress(error) : error;
  }
}

/** An address that a provider chose is refused by its name, which no client may know. */
function withoutAddress(failure: Failure): Failure {
  const { type, code, status, message: detail, cause } = failure;
  if (type !== 'invalid_request') return failure;
  const message = 'its address is one that this server does not connect to';
  return new Failure(type, message, { status, detail, cause, originalCode: code });
}

/** Whether a download that failed may succeed when it is tried again. */
export function mayPass({ type, code }: Failure): boolean {
  return type === 'network_error' || type === 'timeout' || code === UNAVAILABLE;
}

/** The pieces of an answer as they are taken. Whoever stops taking lets go of it. */
export async function* piecesOf(exchange: UpstreamResponse): AsyncGenerator<Uint8Array, void> {
  const waiting: Buffer[] = [];
  let wake = () => {};
  let end: { readonly failure?: unknown } | null = null;
  const done = (how: { readonly failure?: unknown }) => {
    end = how;
    wake();
  };
  exchange
    .read((piece) => {
      waiting.push(piece);
      wake();
      return false;
    })
    .then(
      () => done({}),
      (failure: unknown) => done({ failure }),
    );
  try {
    for (;;) {
      const piece = waiting.shift();
      if (piece !== undefined) {
        yield piece;
        exchange.resume();
      } else if (end !== null) {
        const { failure } = end as { readonly failure?: unknown };
        if (failure !== undefined) throw failure;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    exchange.abort();
  }
}
