import { codedFailure, type Failure } from '../failure.ts';
import { tryParseJson } from '../schema/json.ts';
import { objectOf } from '../schema/untrusted.ts';
import type { UpstreamRequest } from './request.ts';
import type { Upstream } from './response.ts';

/** Bytes of an answer with credentials: the largest have some kilobytes. */
const MAX_BYTES = 64 * 1024;

/** The failure of an identity that cannot be used. @param detail for the log alone */
export function refusedIdentity(detail: string): Failure {
  return codedFailure('upstream_auth', "The provider did not accept the gateway's credentials", {
    upstreamStatus: 401,
    detail,
  });
}

export type IdentityRequest = Pick<UpstreamRequest, 'method' | 'headers' | 'body' | 'proxy'>;

/**
 * Asks a service that gives credentials.
 *
 * @throws Failure `upstream_auth` where it refuses, `upstream_failed` where it fails; as `UpstreamClient.open` does
 */
export async function askIdentityService(
  upstream: Upstream,
  url: string,
  request: IdentityRequest,
): Promise<string> {
  const { signal } = new AbortController();
  const name = 'The identity service of the provider';
  // Metadata services, which have no TLS, are on the same machine.
  const connect = url.startsWith('https:') ? 5000 : 1000;
  const timeouts = { connect, firstByte: 0, idle: 0, total: 10_000 };
  const response = await upstream.open(url, { ...request, name, timeouts, signal });
  const { status } = response;
  const text = (await response.bytes(MAX_BYTES)).toString();
  if (status === 200) return text;
  const { error, error_description: reason } = objectOf(tryParseJson(text));
  const words = reason ? `${error}: ${reason}` : text.replace(/\s+/g, ' ');
  const detail = `status ${status} of ${url}: ${words.slice(0, 500)}`;
  if (status < 500 && status !== 408 && status !== 429) throw refusedIdentity(detail);
  throw codedFailure('upstream_failed', 'The provider failed', { detail });
}

/** Milliseconds before its end at which a value is renewed. */
const RENEWED_BEFORE_MS = 5 * 60_000;

/** Milliseconds between two renewals while the former value is valid. */
const RENEWAL_PAUSE_MS = 10_000;

/** Credentials that end at a time in milliseconds since the epoch, and are renewed before, once for all requests. */
export class Renewed<Value extends { readonly endsAt: number }> {
  readonly #request: (upstream: Upstream) => Promise<Value>;
  readonly #now: () => number;
  #value: Value | null = null;
  /** When the value is renewed, in milliseconds since the epoch. */
  #renewAt = 0;
  #renewal: Promise<Value> | null = null;

  /** @param now milliseconds since the epoch */
  constructor(request: (upstream: Upstream) => Promise<Value>, now: () => number = Date.now) {
    this.#request = request;
    this.#now = now;
  }

  /**
   * A value that is valid now. Requests wait for a renewal only if the former value has ended.
   *
   * @throws Failure of the renewal that the request waits for
   */
  async take(upstream: Upstream): Promise<Value> {
    const value = this.#value;
    if (value !== null && this.#now() < this.#renewAt) return value;
    this.#renewal ??= this.#renew(upstream);
    if (value === null || value.endsAt <= this.#now()) return this.#renewal;
    this.#renewal.catch(() => {});
    return value;
  }

  /** Forgets a value that was refused. */
  forget(value: Value): void {
    if (this.#value === value) this.#value = null;
  }

  async #renew(upstream: Upstream): Promise<Value> {
    try {
      this.#value = await this.#request(upstream);
      return this.#value;
    } finally {
      const endsAt = this.#value?.endsAt ?? 0;
      const pauseEnd = this.#now() + RENEWAL_PAUSE_MS;
      this.#renewAt = Math.min(endsAt, Math.max(endsAt - RENEWED_BEFORE_MS, pauseEnd));
      this.#renewal = null;
    }
  }
}
