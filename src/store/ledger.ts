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
  /** Milliseconds since 1970; of a sum, when it last grew. */
  readonly at: number;
  /** What the account could spend after it, were no request under way. */
  readonly available: number;
}

/** What one request used, beside its price. */
export interface UsageCounts {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  /** Files given or media made. */
  readonly outputs: number;
}

/** What an account used of one model on one day (UTC). */
export interface UsageRow extends UsageCounts {
  readonly accountId: string;
  /** `2026-11-21`. */
  readonly day: string;
  /** A model's identifier, or an operation's endpoint: `batch-convert-images`. */
  readonly model: string;
  /** Micro-credits. */
  readonly spent: number;
}

const DAY = 86_400_000;

let lastDay = 0;
let lastName = '1970-01-01';

/** The day (UTC) that a time is on: `2026-11-21`. Nearly always it is the same as before. */
export function dayOf(at: number): string {
  const day = Math.floor(at / DAY);
  if (day !== lastDay) {
    lastName = new Date(at).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastName;
}

/** A row with one more use in it. */
export function addUsage(row: UsageRow, counts: Partial<UsageCounts>, spent: number): UsageRow {
  return {
    ...row,
    requests: row.requests + (counts.requests ?? 1),
    inputTokens: row.inputTokens + (counts.inputTokens ?? 0),
    cachedInputTokens: row.cachedInputTokens + (counts.cachedInputTokens ?? 0),
    outputTokens: row.outputTokens + (counts.outputTokens ?? 0),
    outputs: row.outputs + (counts.outputs ?? 0),
    spent: row.spent + spent,
  };
}

/** What an entry changed of what its account can spend. Spending what was reserved changes nothing. */
export function availableChange({ type, amount, taskId }: LedgerEntry): number {
  if (type === 'reserve') return -amount;
  if (type === 'charge') return taskId === null ? -amount : 0;
  return amount;
}

/**
 * Folds the beginning of one account's history, oldest first, into one entry.
 *
 * @param isFolded whether an entry may be folded once all before it are
 * @returns how many entries it stands for, and itself; undefined where there is nothing to fold
 */
export function carryForward(
  entries: Iterable<LedgerEntry>,
  isFolded: (entry: LedgerEntry, index: number) => boolean,
): { readonly count: number; readonly carried: LedgerEntry } | undefined {
  let sum = 0;
  let seen = 0;
  let folded: { count: number; carried: LedgerEntry } | undefined;
  for (const entry of entries) {
    if (!isFolded(entry, seen)) break;
    sum += availableChange(entry);
    seen += 1;
    // The day's sum of text charges stands where the day's first was, before grants that paid for
    // the later ones: history is not cut between the two.
    if (seen > 1 && sum >= 0) {
      const carried: LedgerEntry = {
        id: entry.id,
        accountId: entry.accountId,
        keyId: null,
        type: 'carried',
        amount: sum,
        taskId: null,
        model: null,
        requests: null,
        note: null,
        at: entry.at,
        available: sum,
      };
      folded = { count: seen, carried };
    }
  }
  return folded;
}
