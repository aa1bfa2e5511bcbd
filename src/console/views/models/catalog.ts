/** Why and until when (ISO 8601) something is skipped. */
interface Resting {
  readonly reason: string;
  readonly until: string;
}

export interface CatalogModel {
  readonly id: string;
  readonly type: string;
  readonly aliases: readonly string[];
  readonly routes: readonly {
    readonly provider: string;
    readonly model: string;
    readonly resting: Resting | null;
  }[];
}

export interface Provider {
  readonly name: string;
  readonly kind: string;
  readonly state: 'ok' | 'unused' | 'failing' | 'wrong_key' | 'forbidden' | 'no_credit';
  /** What the operator has to mend. */
  readonly problem: string | null;
  readonly keys: number;
  readonly resting_keys: readonly (Resting & { readonly key: string })[];
  readonly attempts: number;
  /** Seconds since the epoch. */
  readonly last_success: number | null;
  /** The last ones, newest first. */
  readonly failures: readonly {
    readonly at: number;
    readonly type: string;
    readonly code: string | null;
    readonly status: number | null;
    readonly message: string;
    readonly key: string | null;
  }[];
}

/** Answer of `v1/admin/models`. */
export interface Catalog {
  readonly models: readonly CatalogModel[];
  readonly providers: readonly Provider[];
}
