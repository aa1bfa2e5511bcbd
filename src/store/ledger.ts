export const ENTRY_TYPES = ['grant', 'reserve', 'charge', 'release', 'carried'] as const;

/** One line of an account's ledger. Sums are micro-credits and never negative: the type tells the sign. */
export interface LedgerEntry {
  /** Ascending in the order of the account's history, unique in the store. */
  readonly id: number;
  readonly accountId: string;
  readonly keyId: string | null;
  /**
   * `carried` stands for all entries before it, once they are older than the ledger is kept.
   * A `charge` without a task sums the day's text requests of one key to one model.
   */
  readonly type: (typeof ENTRY_TYPES)[number];
  readonly amount: number;
  readonly taskId: string | null;
  readonly model: string | null;
  /** Requests that a charge without a task sums up; null for everything else. */
  readonly requests: number | null;
  readonly note: string | null;
  readonly at: number;
  /** What the account could spend after it. */
  readonly available: number;
}

/** What one request used, beside its price. */
export interface Counts {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  /** Files given or media made. */
  readonly outputs: number;
}

/** What an account used of one model on one day (UTC). */
export interface UsageRow extends Counts {
  readonly accountId: string;
  /** `2026-11-21`. */
  readonly day: string;
  /** A model's identifier, or an operation's endpoint: `batch-convert-images`. */
  readonly model: string;
  /** Micro-credits. */
  readonly spent: number;
}
