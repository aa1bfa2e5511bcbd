import type { AccountRecord, KeyRecord } from '../../../administration/records.ts';

/** An account as `v1/admin/accounts/list` has it. */
export type Account = Omit<AccountRecord, 'createdAt'>;

/** A key as `v1/admin/keys/list` has it, with names in snake_case. */
export interface Key extends Omit<KeyRecord, `${string}At`> {
  readonly expires_at: KeyRecord['expiresAt'];
}

/** What the answers of `v1/admin` commands have. */
export interface Outcome<Result> {
  readonly result: Result;
  /** Probable mistakes, such as a model that the catalog lacks. */
  readonly warnings: readonly string[];
}
