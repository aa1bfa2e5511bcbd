import type { WindowLimits } from './budgets.ts';
import type { Balance } from './credits.ts';

export const PLANS = ['free', 'paid'] as const;
export type Plan = (typeof PLANS)[number];

/** Name of the account of the first start, whose holder pays the providers. */
export const OWNER = 'owner';

/** Owner of credits and keys. Times are milliseconds since the epoch, amounts are micro-credits. */
export interface Account extends Balance {
  readonly id: string;
  /** Unique name, which commands accept in place of the identifier. */
  readonly name: string;
  readonly plan: Plan;
  /** Secret that signs callbacks (Standard Webhooks, `whsec_…`). */
  readonly callbackSecret: string;
  /** Secret before the last rotation. It also signs callbacks until the overlap ends. */
  readonly previousSecret?: { readonly secret: string; readonly replacedAt: number } | null;
  readonly createdAt: number;
  /** Of which requests the log keeps the bodies; absent for the setting of the model. */
  readonly bodies?: KeptBodies;
}

/**
 * Time until which the previous secret also signs, in milliseconds since the epoch; null if none does.
 *
 * @param overlap milliseconds for which both secrets sign
 */
export function previousSecretEnd(
  { previousSecret }: Account,
  overlap: number,
  now: number,
): number | null {
  const end = previousSecret ? previousSecret.replacedAt + overlap : 0;
  return end > now ? end : null;
}

/** The secrets that sign a callback now. */
export function callbackSecrets(account: Account, overlap: number, now: number): string[] {
  const hasPrevious = previousSecretEnd(account, overlap, now) !== null;
  return [account.callbackSecret, ...(hasPrevious ? [account.previousSecret!.secret] : [])];
}

/** Answers to image requests that choose none: a task, or images as OpenAI has them, as URLs or as base64. */
export const IMAGE_ANSWERS = ['task', 'url', 'b64_json'] as const;
export type ImageAnswer = (typeof IMAGE_ANSWERS)[number];

/** Of which requests the log keeps the bodies. */
export const KEPT_BODIES = ['off', 'errors', 'all'] as const;
export type KeptBodies = (typeof KEPT_BODIES)[number];

/** API key of an account. The key itself is shown once and not stored. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** SHA-256 of the key, hexadecimal. Keys are random, so a slow hash would add no protection. */
  readonly hash: string;
  /** First and last characters of the key, to recognise it in lists: `sk-oriel-Ab3d…9xYz`. */
  readonly hint: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Models that the key may use; null for all. */
  readonly models: readonly string[] | null;
  /** Features that the key allows beyond those of its models; absent in old records. */
  readonly allow?: readonly string[];
  /** Answer to image requests that choose none; absent for that of the configuration. */
  readonly images?: ImageAnswer;
  /** How long answers are cached, as `1h`, or `off`; absent for the time of the model. */
  readonly cache?: string;
  /** Of which requests the log keeps the bodies; absent for the setting of the account. */
  readonly bodies?: KeptBodies;
  /** Requests per minute; null for the limit of the plan. */
  readonly rpm: number | null;
  /** Tokens in a minute, and requests at once; null, and absent in old records, for no limit. */
  readonly tpm?: number | null;
  readonly parallel?: number | null;
  /** Micro-credits that the key may spend in total; null for no limit but the account's. */
  readonly budget: number | null;
  /** Budgets by day, week and month; absent without any. */
  readonly windows?: WindowLimits;
  /** Team of the same account, whose budgets count as well; absent without one. */
  readonly teamId?: string;
  readonly reserved: number;
  readonly spent: number;
}

/** Group of keys of an account that share budgets. */
export interface Team {
  readonly id: string;
  readonly accountId: string;
  /** Unique among the teams of the account that are not removed. */
  readonly name: string;
  readonly createdAt: number;
  /** A removed team has no keys. It is kept for the names in reports of usage. */
  readonly removedAt: number | null;
  /** Micro-credits that its keys may spend together in total; null for no limit but the account's. */
  readonly budget: number | null;
  readonly windows?: WindowLimits;
  /** Tokens in a minute and requests at once of its keys together; null, and absent in old records, for no limit. */
  readonly tpm?: number | null;
  readonly parallel?: number | null;
  readonly reserved: number;
  readonly spent: number;
}

export const KEY_STATUSES = ['active', 'expired', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

/** @param now milliseconds since the epoch */
export function statusOf({ revokedAt, expiresAt }: ApiKey, now: number): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
}

export interface NewAccount {
  readonly name: string;
  readonly plan: Plan;
  /** Micro-credits to grant at creation. */
  readonly credits: number;
}

export type NewKey = Omit<ApiKey, 'id' | 'createdAt' | 'revokedAt' | 'reserved' | 'spent'>;

/** Fields of a key that can change; null removes windows, the team, features, the answer to image requests, the cache and bodies. */
export interface KeyChange
  extends Partial<
    Pick<ApiKey, 'name' | 'expiresAt' | 'models' | 'rpm' | 'tpm' | 'parallel' | 'budget'>
  > {
  readonly allow?: readonly string[] | null;
  readonly images?: ApiKey['images'] | null;
  readonly cache?: string | null;
  readonly bodies?: KeptBodies | null;
  readonly windows?: WindowLimits | null;
  readonly teamId?: string | null;
}

export type NewTeam = Pick<Team, 'accountId' | 'name' | 'budget' | 'windows' | 'tpm' | 'parallel'>;

/** Fields of a team that can change; null removes windows. */
export interface TeamChange extends Partial<Pick<Team, 'name' | 'budget' | 'tpm' | 'parallel'>> {
  readonly windows?: WindowLimits | null;
}

/** Session of a browser, which has the rights of a key until it ends. */
export interface Session {
  /** SHA-256 of the token in the browser's cookie, hexadecimal. The token itself is not stored. */
  readonly hash: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Sessions of one key; the oldest ends where one more begins. */
export const MAX_SESSIONS = 50;

export type NewSession = Omit<Session, 'createdAt'>;
