import type { Balance } from './credits.ts';

export const PLANS = ['free', 'paid'] as const;
export type Plan = (typeof PLANS)[number];

/** Somebody who holds credits. Times are milliseconds since 1970, sums are micro-credits. */
export interface Account extends Balance {
  readonly id: string;
  /** Unique; how people address it. */
  readonly name: string;
  readonly plan: Plan;
  /** Signs callbacks (Standard Webhooks, `whsec_…`). */
  readonly callbackSecret: string;
  /** The secret before, which signs callbacks as well until the overlap is over. */
  readonly previousSecret?: { readonly secret: string; readonly replacedAt: number } | null;
  readonly createdAt: number;
}

/**
 * When the secret before the account's signs no more, in milliseconds since 1970; null where there is
 * none that does.
 *
 * @param overlap milliseconds for which both sign
 */
export function previousSecretEnd(
  { previousSecret }: Account,
  overlap: number,
  now: number,
): number | null {
  const end = previousSecret ? previousSecret.replacedAt + overlap : 0;
  return end > now ? end : null;
}

/** A credential of an account. The key itself is shown once and never kept. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** SHA-256 of the key, hexadecimal. Keys are random, so that a slow hash would protect nothing more. */
  readonly hash: string;
  /** Enough of the key to tell it from others: `sk-oriel-Ab3d…9xYz`. */
  readonly hint: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The models it may name; null for all. */
  readonly models: readonly string[] | null;
  /** What its requests may ask of providers beyond what their models allow; absent in old records. */
  readonly allow?: readonly string[];
  /** Requests in a minute; null for what the plan gives. */
  readonly rpm: number | null;
  /** Micro-credits that it may spend in all; null for whatever its account has. */
  readonly budget: number | null;
  readonly reserved: number;
  readonly spent: number;
}

export type KeyStatus = 'active' | 'expired' | 'revoked';

/** @param now milliseconds since 1970 */
export function statusOf({ revokedAt, expiresAt }: ApiKey, now: number): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
}
