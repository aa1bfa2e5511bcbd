interface Balance {
  readonly granted: number;
  readonly reserved: number;
  readonly spent: number;
  readonly available: number;
}

/** An account as `v1/admin/accounts/list` has it. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: 'free' | 'paid';
  readonly credits: Balance;
}

/** A key as `v1/admin/keys/list` has it. */
export interface Key {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly team: string | null;
  /** Beginning and end of the key. */
  readonly hint: string;
  readonly status: string;
  /** ISO 8601. */
  readonly expires_at: string | null;
  readonly models: readonly string[] | null;
  readonly rpm: number | null;
  readonly budget: Balance | null;
  readonly windows: readonly (Balance & { readonly period: string })[];
}

/** What the answers of `v1/admin` commands have. */
export interface Outcome<Result> {
  readonly result: Result;
  /** Probable mistakes, such as a model that the catalog lacks. */
  readonly warnings: readonly string[];
}
