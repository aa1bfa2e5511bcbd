import type { Reservation } from './budgets.ts';
export const ENTRY_TYPES = ['grant', 'reserve', 'charge', 'release', 'carried'] as const;

/** One entry of an account's ledger. Amounts are micro-credits and never negative: the type gives the sign. */
export interface LedgerEntry {
  /** Ascending in the order of the account's history, unique in the store. */
  readonly id: number;
  readonly accountId: string;
  readonly keyId: string | null;
  /**
   * `carried` replaces all entries before it, once they are older than the ledger is kept.
   * A `charge` without a task is the sum of a day's text requests of one key to one model.
   */
  readonly type: (typeof ENTRY_TYPES)[number];
  readonly amount: number;
  readonly taskId: string | null;
  readonly model: string | null;
  /** Number of requests in a charge without a task; null for other entries. */
  readonly requests: number | null;
  readonly note: string | null;
  /** Milliseconds since the epoch; of a sum, the time of its last addition. */
  readonly at: number;
  /** Available credits of the account after the entry, without reservations of requests in progress. */
  readonly available: number;
}

/** What an entry without a key, a task and a note has in their places. */
export const NO_DETAILS = { keyId: null, taskId: null, model: null, requests: null, note: null };

/** Usage of one request, beside its price. */
export interface UsageCounts {
  /** Requests, those that failed included; earlier versions left these out. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** Input that was written to a cache; absent in rows of earlier versions. */
  readonly cacheWriteTokens?: number;
  /** The part of it that the cache keeps for an hour; absent in rows of earlier versions. */
  readonly cacheWrite1hTokens?: number;
  readonly outputTokens: number;
  /** Answers from the exact cache; absent in rows of earlier versions. */
  readonly cacheHits?: number;
  /** Files that were returned, or media that were generated. */
  readonly outputs: number;
  /** Requests that failed or were refused; absent in rows of earlier versions. */
  readonly errors?: number;
}

/** Usage of one model by one key on one day (UTC), of requests with the same tags. */
export interface UsageRow extends UsageCounts {
  readonly accountId: string;
  /** Absent in rows of earlier versions, which are the sums of all keys of the account. */
  readonly keyId?: string;
  /** Team of the key at the time of use; absent without one. */
  readonly teamId?: string;
  /** Day in UTC: `2026-11-21`. */
  readonly day: string;
  /** Tags of the requests, as one text: see `tagSetOf`. Absent without any. */
  readonly tags?: string;
  /** Identifier of a model, or endpoint of an operation: `batch-convert-images`. */
  readonly model: string;
  /** Micro-credits. */
  readonly spent: number;
}

const DAY = 86_400_000;

let lastDay = 0;
let lastName = '1970-01-01';

/** Day of a time in UTC: `2026-11-21`. Caches the last one, since calls are nearly always for the same day. */
export function utcDayOf(at: number): string {
  const day = Math.floor(at / DAY);
  if (day !== lastDay) {
    lastName = new Date(at).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastName;
}

export const NO_USAGE: Required<UsageCounts> = {
  requests: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  cacheHits: 0,
  outputs: 0,
  errors: 0,
};

/** Adds the usage of one request, or of as many as `counts` says. */
export function addCounts(sum: UsageCounts, counts: Partial<UsageCounts>): Required<UsageCounts> {
  return {
    requests: sum.requests + (counts.requests ?? 1),
    inputTokens: sum.inputTokens + (counts.inputTokens ?? 0),
    cachedInputTokens: sum.cachedInputTokens + (counts.cachedInputTokens ?? 0),
    cacheWriteTokens: (sum.cacheWriteTokens ?? 0) + (counts.cacheWriteTokens ?? 0),
    cacheWrite1hTokens: (sum.cacheWrite1hTokens ?? 0) + (counts.cacheWrite1hTokens ?? 0),
    outputTokens: sum.outputTokens + (counts.outputTokens ?? 0),
    cacheHits: (sum.cacheHits ?? 0) + (counts.cacheHits ?? 0),
    outputs: sum.outputs + (counts.outputs ?? 0),
    errors: (sum.errors ?? 0) + (counts.errors ?? 0),
  };
}

/** Change of an account's available credits by an entry. Spending reserved credits changes nothing. */
export function availableChange({ type, amount, taskId }: LedgerEntry): number {
  if (type === 'reserve') return -amount;
  if (type === 'charge') return taskId === null ? -amount : 0;
  return amount;
}

/** A ledger is compacted when it exceeds its limit by this factor, not at the end of every task. */
export const LEDGER_SLACK = 1.1;

/** Maximum rows of usage that one transaction deletes. */
export const MAX_DELETED_USAGE = 10_000;

/**
 * Replaces the oldest entries of an account's ledger by one `carried` entry.
 *
 * @param isFolded whether an entry may be replaced once all before it are
 * @returns the new entry and the number of entries that it replaces; undefined if there are none
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
    // The sum of a day's text charges has the position of the first of them, before grants that paid for
    // the later ones. The history is not cut between the two.
    if (seen > 1 && sum >= 0) {
      const { id, accountId, at } = entry;
      const sums = { amount: sum, available: sum };
      const carried: LedgerEntry = { id, accountId, type: 'carried', ...NO_DETAILS, at, ...sums };
      folded = { count: seen, carried };
    }
  }
  return folded;
}

/** Usage of a request and its charge in micro-credits. */
export interface MeteredUsage {
  readonly model: string;
  readonly counts: Partial<UsageCounts>;
  readonly charge: number;
  /** Tags of the request, as one text; absent or empty without any. */
  readonly tags?: string | undefined;
}

/** Usage that is charged in the transaction that records the result of the work. */
export interface WorkCharges {
  readonly keyId: string;
  /** One for each pair of a model and tags. */
  readonly usage: readonly MeteredUsage[];
  /** Reservations for the work, which its charge ends. */
  readonly held: readonly Reservation[];
}
