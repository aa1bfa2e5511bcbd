import { hash } from 'node:crypto';
import type { Provider } from '../config/providers/provider-kinds.ts';
import { keysOf } from '../config/providers/provider-kinds.ts';
import type { Config } from '../config/settings/schema.ts';
import type { Failure } from '../failure.ts';
import { getOrInsert, remember } from '../maps.ts';

/** A provider's settings with one of its keys as `apiKey`. */
export interface KeyedProvider {
  readonly settings: Provider;
  /** Name of the key in the log: its position from 1 and part of its SHA-256. Null unless the provider has several. */
  readonly label: string | null;
  /** Part of the key's SHA-256, which does not change when a reload moves the key; empty without a key. */
  readonly fingerprint: string;
}

/** The cooldown of a key on a route. Times are those of `performance.now()`. */
export interface KeyCooldown {
  /** The provider's name in the configuration. */
  readonly provider: string;
  readonly fingerprint: string;
  /** The account whose requests do not use the key; null for all. Other accounts use it after other keys. */
  readonly account: string | null;
  readonly failure: Failure;
  readonly since: number;
  readonly skippedUntil: number;
  readonly avoidedUntil: number;
}

/** @param tried fingerprints of keys that the request was sent with */
type KeyRequest = [
  route: string,
  provider: Provider,
  account: string,
  tried: ReadonlySet<string> | null,
];

/** Maximum number of cooldowns in memory. Beyond it, expired ones are dropped, and then the oldest. */
const MAX_COOLDOWNS = 10_000;

/** How early a timer may fire before the end of a cooldown, in milliseconds. */
const TIMER_SLACK_MS = 10;

const FINGERPRINT_LENGTH = 8;

const KEYED = new WeakMap<Provider, readonly KeyedProvider[]>();

/** The settings of a provider with each of its keys; made once for each loaded configuration. */
function keyedProviders(provider: Provider): readonly KeyedProvider[] {
  return getOrInsert(KEYED, provider, () => {
    const keys = keysOf(provider);
    if (keys.length === 0) return [{ settings: provider, label: null, fingerprint: '' }];
    return keys.map((apiKey, index) => {
      const fingerprint = hash('sha256', apiKey).slice(0, FINGERPRINT_LENGTH);
      const label = keys.length === 1 ? null : `${index + 1}/${fingerprint}`;
      return { settings: { ...provider, apiKey } as Provider, label, fingerprint };
    });
  });
}

/**
 * Uses the keys of a provider in turn. A key that the provider refuses or limits cools down, on one route only: limits
 * and permissions differ by model.
 */
export class ProviderKeys {
  readonly #cooldowns = new Map<string, KeyCooldown>();
  /** Position of the key that is used next. */
  readonly #turns = new WeakMap<Provider, number>();
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * The next key for a request of an account: one that is not cooling down, else the one avoided for longest.
   *
   * @param tried fingerprints of keys that the request was sent with
   * @returns null if none is left
   */
  take(...request: KeyRequest): KeyedProvider | null {
    const [, provider, , tried] = request;
    const all = keyedProviders(provider);
    if (this.#cooldowns.size === 0 && all.length === 1 && tried === null) return all[0]!;
    const keyed = this.#find(...request);
    if (keyed !== null && all.length > 1) this.#turns.set(provider, all.indexOf(keyed) + 1);
    return keyed;
  }

  /** Whether `take` would return a key. */
  hasOther(...request: KeyRequest): boolean {
    return this.#find(...request) !== null;
  }

  #find(...[route, provider, account, tried]: KeyRequest): KeyedProvider | null {
    const all = keyedProviders(provider);
    const turn = this.#turns.get(provider) ?? 0;
    let avoided: KeyedProvider | null = null;
    let avoidedSince = Infinity;
    for (let offset = 0; offset < all.length; offset += 1) {
      const keyed = all[(turn + offset) % all.length]!;
      if (tried?.has(keyed.fingerprint)) continue;
      const cooldown = this.#cooldownOf(route, keyed);
      if (cooldown === null) return keyed;
      if (this.#skipped(cooldown, account) > 0 || cooldown.since >= avoidedSince) continue;
      avoided = keyed;
      avoidedSince = cooldown.since;
    }
    return avoided;
  }

  /** Milliseconds until an account may use a key of a provider on a route; 0 for now. @param account null for any */
  remaining(route: string, provider: Provider, account: string | null): number {
    if (this.#cooldowns.size === 0) return 0;
    let shortest = Infinity;
    for (const keyed of keyedProviders(provider)) {
      const cooldown = this.#cooldownOf(route, keyed);
      const remaining = cooldown === null ? 0 : this.#skipped(cooldown, account);
      if (remaining === 0) return 0;
      shortest = Math.min(shortest, remaining);
    }
    return shortest;
  }

  /**
   * Begins or extends the cooldown of a key. It applies to all accounts once requests of two accounts have failed.
   *
   * @param account the one whose request failed; null if requests of several accounts failed
   * @returns whether the cooldown is new, or now applies to more accounts
   */
  beginCooldown(
    route: string,
    provider: string,
    { fingerprint }: Pick<KeyedProvider, 'fingerprint'>,
    { skipped, avoided }: KeyCooldownTimes,
    failure: Failure,
    account: string | null,
  ): boolean {
    const since = this.#now();
    if (this.#cooldowns.size >= MAX_COOLDOWNS) this.#dropExpired();
    const name = nameOf(route, fingerprint);
    const before = this.#cooldowns.get(name);
    const isShared =
      before !== undefined && before.skippedUntil > since && before.account !== account;
    const only = isShared ? null : account;
    const times = { since, skippedUntil: since + skipped, avoidedUntil: since + avoided };
    const cooldown = { provider, fingerprint, account: only, failure, ...times };
    remember(this.#cooldowns, name, cooldown, MAX_COOLDOWNS);
    return before === undefined || (only === null && before.account !== null);
  }

  /** Whether the key cools down for all accounts. */
  isForAll(route: string, fingerprint: string): boolean {
    return this.#cooldowns.get(nameOf(route, fingerprint))?.account === null;
  }

  /** Ends the cooldown of a key after a request succeeded. @param startedAt when it was sent */
  wake(route: string, { fingerprint }: KeyedProvider, startedAt: number): void {
    if (this.#cooldowns.size === 0) return;
    const name = nameOf(route, fingerprint);
    const cooldown = this.#cooldowns.get(name);
    // A request that was sent before the cooldown says nothing about the key now.
    if (cooldown !== undefined && cooldown.since < startedAt) this.#cooldowns.delete(name);
  }

  /** The keys that are cooling down, on each of their routes. */
  cooldowns(): Iterable<KeyCooldown> {
    this.#dropExpired();
    return this.#cooldowns.values();
  }

  #cooldownOf(route: string, { fingerprint }: KeyedProvider): KeyCooldown | null {
    if (this.#cooldowns.size === 0) return null;
    const name = nameOf(route, fingerprint);
    const cooldown = this.#cooldowns.get(name);
    if (cooldown === undefined) return null;
    if (cooldown.avoidedUntil > this.#now() || this.#skipped(cooldown, cooldown.account) > 0)
      return cooldown;
    this.#cooldowns.delete(name);
    return null;
  }

  #skipped({ skippedUntil, account: only }: KeyCooldown, account: string | null): number {
    if (only !== null && only !== account) return 0;
    const remaining = skippedUntil - this.#now();
    return remaining > TIMER_SLACK_MS ? remaining : 0;
  }

  #dropExpired(): void {
    const now = this.#now();
    for (const [name, { avoidedUntil }] of this.#cooldowns) {
      if (avoidedUntil <= now) this.#cooldowns.delete(name);
    }
  }
}

function nameOf(route: string, fingerprint: string): string {
  return `${fingerprint} ${route}`;
}

type Cooldown = NonNullable<Config['routing']['cooldown']>;

/** Cooldown of a key after a failure that concerns the key, in milliseconds. */
export interface KeyCooldownTimes {
  /** Time in which the key is not used at all. */
  readonly skipped: number;
  /** Time in which other keys of the provider are used before it. */
  readonly avoided: number;
}

/** Factor of the cooldown of routes by which a refused key is avoided longer. */
const REFUSED_FACTOR = 10;

/** Maximum cooldown by a provider's Retry-After, in milliseconds. */
const MAX_REST_MS = 600_000;

/** A rate limit that a single request exceeds by its size says nothing about the next request. */
const OWN_SIZE = /request too large/i;

/**
 * The cooldown that a failure begins; null if another key would not help.
 *
 * Only failures that a client cannot bring about make a key unusable for others: 401, and 429 with
 * Retry-After. Some providers answer 403 to a prompt that they flag, and 402 to an output limit that is too
 * expensive; then other keys are tried first, and the key is tried last.
 */
export function keyCooldownTimes(failure: Failure, cooldown: Cooldown): KeyCooldownTimes | null {
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
