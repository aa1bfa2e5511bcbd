import { getOrInsert } from '../maps.ts';

/** A failed attempt at a provider, without secrets. */
export interface ProviderFailure {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly type: string;
  readonly code: string | null;
  /** HTTP status of the provider's answer; null without one. */
  readonly status: number | null;
  /** The provider's message; that of the failure without one. */
  readonly message: string;
  /** Names one of several keys of the provider; null for an only key. */
  readonly key: string | null;
}

/** Attempts at one provider since the start. */
export interface ProviderAttempts {
  readonly attempts: number;
  /** Time of the last attempt that succeeded, in milliseconds since the epoch; null for none. */
  readonly lastSuccess: number | null;
  /** The last failures, newest first. */
  readonly failures: readonly ProviderFailure[];
}

interface Counters {
  attempts: number;
  lastSuccess: number | null;
  readonly failures: ProviderFailure[];
}

/** Failures of one provider that are kept. */
const MAX_FAILURES = 5;

const NO_ATTEMPTS: ProviderAttempts = { attempts: 0, lastSuccess: null, failures: [] };

/** The attempts at each provider and its last failures. */
export class ProviderHealth {
  readonly #providers = new Map<string, Counters>();

  of(provider: string): ProviderAttempts {
    return this.#providers.get(provider) ?? NO_ATTEMPTS;
  }

  succeeded(provider: string): void {
    const counters = this.#countersOf(provider);
    counters.attempts += 1;
    counters.lastSuccess = Date.now();
  }

  failed(provider: string, failure: Omit<ProviderFailure, 'at'>): void {
    const counters = this.#countersOf(provider);
    counters.attempts += 1;
    counters.failures.unshift({ at: Date.now(), ...failure });
    if (counters.failures.length > MAX_FAILURES) counters.failures.pop();
  }

  #countersOf(provider: string): Counters {
    return getOrInsert(this.#providers, provider, () => ({
      attempts: 0,
      lastSuccess: null,
      failures: [],
    }));
  }
}
