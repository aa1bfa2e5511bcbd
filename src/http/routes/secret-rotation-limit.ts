import { Failure } from '../../failure.ts';

/** Rotations of one account's secret in an hour: each is a line of the audit log for ever. */
const MAX_ROTATIONS = 10;

const HOUR_MS = 3_600_000;

/** Limits how often clients rotate their callback secrets. */
export class SecretRotationLimit {
  /** Times of the last hour by account, in milliseconds of `performance.now()`. */
  readonly #times = new Map<string, readonly number[]>();

  /** Counts one rotation. @throws Failure rate_limit */
  take(account: string): void {
    const now = performance.now();
    for (const [other, times] of this.#times) {
      const recent = times.filter((time) => now - time < HOUR_MS);
      if (recent.length > 0) this.#times.set(other, recent);
      else this.#times.delete(other);
    }
    const times = this.#times.get(account) ?? [];
    if (times.length >= MAX_ROTATIONS) {
      throw new Failure('rate_limit', `a secret may be rotated ${MAX_ROTATIONS} times in an hour`, {
        code: 'too_many_rotations',
        retryAfter: Math.ceil((times[0]! + HOUR_MS - now) / 1000),
      });
    }
    this.#times.set(account, [...times, now]);
  }
}
