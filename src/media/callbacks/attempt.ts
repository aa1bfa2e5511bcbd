import { Failure } from '../../failure.ts';
import type { DeliveryAttempt } from '../../store/delivery.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';

/** Timeout of one attempt, from DNS to the last byte of the response. */
const TOTAL_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Bytes of a response body that are read and discarded, so that the connection can be reused. */
const MAX_RESPONSE_BYTES = 8 * 1024;

/** Characters of a stored error message: a host name may have thousands. */
const MAX_ERROR_LENGTH = 300;

/** The result of one attempt, and whether another one may succeed. */
export interface AttemptResult extends Pick<DeliveryAttempt, 'status' | 'error'> {
  readonly verdict: 'delivered' | 'retry' | 'give-up';
}

interface CallbackRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends a callback once, and follows no redirect.
 *
 * @param signal aborted when the daemon shuts down
 * @throws Failure `aborted` once the signal is aborted
 */
export async function attemptDelivery(
  upstream: Pick<UpstreamClient, 'open'>,
  { url, headers, body }: CallbackRequest,
  {
    networkPolicy,
    signal,
  }: { readonly networkPolicy: NetworkPolicy; readonly signal: AbortSignal },
): Promise<AttemptResult> {
  try {
    const { href } = checkPublicUrl(url, null, networkPolicy, 'callback');
    const response = await upstream.open(href, {
      headers,
      body,
      timeouts: { connect: CONNECT_TIMEOUT_MS, firstByte: 0, idle: 0, total: TOTAL_TIMEOUT_MS },
      networkPolicy,
      signal,
    });
    // The status alone decides, even where the body cannot be read.
    await response.bytes(MAX_RESPONSE_BYTES).catch(() => {});
    response.abort();
    return resultOf(response.status);
  } catch (error) {
    if (!(error instanceof Failure) || signal.aborted) throw error;
    // A URL that is invalid or refused will still be so at the next attempt.
    const verdict = error.type === 'invalid_request' ? 'give-up' : 'retry';
    return { status: null, error: error.message.slice(0, MAX_ERROR_LENGTH), verdict };
  }
}

function resultOf(status: number): AttemptResult {
  if (status >= 200 && status < 300) return { status, error: null, verdict: 'delivered' };
  // Standard Webhooks: 410 means that the receiver is gone for good.
  if (status === 410) {
    return { status, error: 'the receiver wants no more callbacks (410)', verdict: 'give-up' };
  }
  const reason = status < 400 ? `: redirects are not followed` : '';
  return { status, error: `the receiver answered ${status}${reason}`, verdict: 'retry' };
}
