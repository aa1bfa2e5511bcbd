import type { Upstream } from './response.ts';

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
