import { Failure } from '../../failure.ts';
import type { DeliveryAttempt } from '../../store/delivery.ts';
import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';

/** Milliseconds for one try, from the first step to the last byte of the answer. */
const TOTAL = 15_000;
const CONNECT = 10_000;

/** Bytes of an answer that are read, so that its connection can serve again. Nobody looks at them. */
const READ = 8 * 1024;

/** Characters that are written down of what went wrong: a host may have thousands. */
const TOLD = 300;

/** What one try came to: what is written down of it, and whether another can do better. */
export interface Trial extends Pick<DeliveryAttempt, 'status' | 'error'> {
  readonly verdict: 'delivered' | 'again' | 'never';
}

interface Parcel {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends a callback once, and follows no redirect.
 *
 * @param signal aborted when the daemon ends
 * @throws Failure `aborted` where that cut it short
 */
export async function attempt(
  upstream: Pick<UpstreamClient, 'open'>,
  { url, headers, body }: Parcel,
  { network, signal }: { readonly network: NetworkPolicy; readonly signal: AbortSignalLike },
): Promise<Trial> {
  try {
    const exchange = await upstream.open(checkPublicUrl(url, null, network, 'callback').href, {
      headers,
      body,
      timeouts: { connect: CONNECT, firstByte: 0, idle: 0, total: TOTAL },
      networkPolicy: network,
      signal,
    });
    // The status has said it all, whatever becomes of the rest.
    await exchange.bytes(READ).catch(() => {});
    exchange.abort();
    return judged(exchange.status);
  } catch (error) {
    if (!(error instanceof Failure) || signal.aborted) throw error;
    // An address that cannot be connected to will be none tomorrow.
    const verdict = error.type === 'invalid_request' ? 'never' : 'again';
    return { status: null, error: error.message.slice(0, TOLD), verdict };
  }
}

function judged(status: number): Trial {
  if (status >= 200 && status < 300) return { status, error: null, verdict: 'delivered' };
  // Standard Webhooks: the receiver is gone, and wants no more.
  if (status === 410) {
    return { status, error: 'the receiver wants no more callbacks (410)', verdict: 'never' };
  }
  const why = status < 400 ? `: redirects are not followed` : '';
  return { status, error: `the receiver answered ${status}${why}`, verdict: 'again' };
}
