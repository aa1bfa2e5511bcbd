import { Webhook } from 'standardwebhooks';
import { Failure } from '../failure.ts';
import type { NetworkPolicy } from './network-policy.ts';
import { checkPublicUrl } from './public-url.ts';
import type { Upstream } from './response.ts';

/** Timeout of one attempt, from DNS to the last byte of the response. */
const TOTAL_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Bytes of a response body that are read and discarded, so that the connection can be reused. */
const MAX_RESPONSE_BYTES = 8 * 1024;

/** Characters of a stored error message: a host name may have thousands. */
const MAX_ERROR_LENGTH = 300;

/** The result of one attempt, and whether another one may succeed. */
export interface AttemptResult {
  /** Status of the response; null if there was none. */
  readonly status: number | null;
  /** Error message; null if it was delivered. */
  readonly error: string | null;
  readonly verdict: 'delivered' | 'retry' | 'give-up';
}

interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface AttemptOptions {
  readonly networkPolicy: NetworkPolicy;
  /** Aborted when the daemon shuts down. */
  readonly signal: AbortSignal;
  /** Whether the operator has named the address, and reads why it is refused. */
  readonly isOwn?: boolean;
}

const ALLOWED_BY = '; see network.allow, network.deny and network.callbackPorts';

/**
 * Sends a callback or an alert once, and follows no redirect.
 *
 * @throws Failure `aborted` once the signal is aborted
 */
export async function attemptDelivery(
  upstream: Upstream,
  { url, headers, body }: WebhookRequest,
  { networkPolicy, signal, isOwn = false }: AttemptOptions,
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
    const message = error.message + (isOwn && verdict === 'give-up' ? ALLOWED_BY : '');
    return { status: null, error: message.slice(0, MAX_ERROR_LENGTH), verdict };
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

/**
 * The body of an event, of which every attempt sends the same bytes.
 *
 * @param at milliseconds since the epoch
 */
export function bodyOf(type: string, at: number, data: object): string {
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
}

/**
 * The headers of one attempt, by Standard Webhooks 1.0.
 *
 * @param secrets `whsec_…`, newest first; receivers accept a signature by any of them
 * @param now milliseconds since the epoch; receivers reject old timestamps
 */
export function headersOf(
  id: string,
  body: string,
  secrets: readonly string[],
  now: number,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Oriel',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': secrets
      .map((secret) => new Webhook(secret).sign(id, new Date(now), body))
      .join(' '),
  };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Milliseconds between two delivery attempts, a day in all. The position in the list, not the wall
 * clock, ends the retries: clock changes and the daemon's downtime cost no attempt.
 */
const RETRY_DELAYS_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  8 * HOUR,
];

/** Random share of a delay, so that callbacks that failed together are not retried together. */
const JITTER = 0.2;

/**
 * Milliseconds until a callback is sent again; null after the last attempt.
 *
 * @param attempts at least one
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, random: number): number | null {
  const delay = RETRY_DELAYS_MS[attempts - 1];
  return delay === undefined ? null : Math.round(delay * (1 + JITTER * (random - 0.5)));
}
