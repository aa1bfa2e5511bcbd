import { type Account, type ApiKey, type KeyStatus, statusOf } from '../store/account.ts';
import { type CreditsRecord, creditsOf } from '../store/credits.ts';

/** An account without the secret that signs its callbacks. */
export interface AccountRecord {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly createdAt: string;
  readonly credits: CreditsRecord;
}

/** A key without the key itself and its hash. */
export interface KeyRecord {
  readonly id: string;
  /** The name of the account. */
  readonly account: string;
  readonly name: string;
  readonly hint: string;
  readonly status: KeyStatus;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly models: readonly string[] | null;
  /** Features that its requests may use; absent where only its models allow some. */
  readonly allow?: readonly string[];
  readonly rpm: number | null;
  /** Null where it may spend all credits of its account. */
  readonly budget: CreditsRecord | null;
}

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();
const timeOrNull = (milliseconds: number | null) =>
  milliseconds === null ? null : timeOf(milliseconds);

export function accountRecord(account: Account): AccountRecord {
  const { id, name, plan, createdAt } = account;
  return { id, name, plan, createdAt: timeOf(createdAt), credits: creditsOf(account) };
}

export function keyRecord(key: ApiKey, account: Account | undefined): KeyRecord {
  const { budget, reserved, spent } = key;
  return {
    id: key.id,
    account: account?.name ?? key.accountId,
    name: key.name,
    hint: key.hint,
    status: statusOf(key, Date.now()),
    createdAt: timeOf(key.createdAt),
    expiresAt: timeOrNull(key.expiresAt),
    revokedAt: timeOrNull(key.revokedAt),
    models: key.models,
    ...(key.allow && { allow: key.allow }),
    rpm: key.rpm,
    budget: budget === null ? null : creditsOf({ granted: budget, reserved, spent }),
  };
}

/** A decimal without an exponent, which `String` gives to `1e-6`. */
export function decimal(credits: number): string {
  return credits.toFixed(6).replace(/\.?0+$/, '');
}
