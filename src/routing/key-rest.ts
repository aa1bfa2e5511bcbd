import type { Config } from '../config/settings/schema.ts';
import type { Failure } from '../failure.ts';

type Cooldown = NonNullable<Config['routing']['cooldown']>;

/** How long a key rests after a failure that says something of it, in milliseconds. */
export interface KeyRest {
  /** Time in which the key is not used at all. */
  readonly skipped: number;
  /** Time in which other keys of the provider are used before it. */
  readonly avoided: number;
}

/** Times of the cooldown of routes for which a refused key is avoided. */
const REFUSED_FACTOR = 10;

/** The longest rest that a provider's Retry-After begins, in milliseconds. */
const MAX_REST_MS = 600_000;

/** Rate limits that one request exceeds by its own size say nothing of the next request. */
const OWN_SIZE = /request too large/i;

/**
 * The rest that a failure begins; null where another key would not help.
 *
 * Only failures that a client cannot bring about make a key unusable for others: 401, and 429 with
 * Retry-After. Some providers answer 403 to a prompt that they flag, and 402 to an output limit that is too
 * expensive; then other keys are tried first, and the key is tried last.
 */
export function keyRestOf(failure: Failure, cooldown: Cooldown): KeyRest | null {
  const { type, code, upstreamStatus, retryAfter, detail } = failure;
  const never = cooldown.after === 0;
  if (type === 'rate_limit') {
    if (OWN_SIZE.test(detail ?? '')) return null;
    const asked = Math.min((retryAfter ?? 0) * 1000, MAX_REST_MS);
    if (asked === 0) return { skipped: 0, avoided: cooldown.for };
    return { skipped: never ? 0 : asked, avoided: asked };
  }
  if (type !== 'service_error') return null;
  const isRefused = code === 'upstream_auth' || code === 'upstream_quota';
  if (!isRefused) return null;
  const isUnknownKey = code === 'upstream_auth' && upstreamStatus === 401;
  return {
    skipped: isUnknownKey && !never ? cooldown.for : 0,
    avoided: REFUSED_FACTOR * cooldown.for,
  };
}
