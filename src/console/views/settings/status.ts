/** Answer of `v1/admin/status`. */
export interface Status {
  readonly version: string;
  readonly node: string;
  readonly uptime_seconds: number;
  readonly public_url: string;
  readonly draining: boolean;
  readonly store: {
    readonly fault: string | null;
    readonly checkpoint_fault: string | null;
    readonly journals: number;
    readonly journal_bytes: number;
    readonly accounts: number;
    readonly keys: number;
    readonly credits: {
      readonly granted: number;
      readonly reserved: number;
      readonly spent: number;
    };
  };
  /** Null where the disk does not answer. */
  readonly disk: {
    readonly store_bytes: number | null;
    readonly free_bytes: number | null;
    readonly total_bytes: number | null;
  };
  readonly memory: { readonly rss_bytes: number };
  readonly pool: { readonly threads: number; readonly running: number; readonly waiting: number };
  readonly open_tasks: number;
  readonly queues: readonly {
    readonly provider: string;
    readonly limit: number;
    readonly running: number;
    readonly waiting: number;
  }[];
}
