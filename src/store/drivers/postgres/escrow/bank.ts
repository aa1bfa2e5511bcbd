import type { Failure } from '../../../../failure.ts';
import type { ScopedPayer } from '../../../budgets.ts';
import type { UsageCounts } from '../../../ledger.ts';

/** Request for credits in advance. Amounts are micro-credits. */
export interface Draw {
  /** Identifier of the node's escrows. Its draws return with them where its lease has ended. */
  readonly node: string;
  readonly payer: ScopedPayer;
  /** A draw of less is refused. */
  readonly least: number;
  /** Drawn where the account, the budgets and the other nodes leave enough. */
  readonly wanted: number;
  /** Whether half of what there is stays for other nodes. */
  readonly isAdvance?: boolean;
}

/** Sum of the text requests of one payer to one model with the same tags on one day. */
export interface Charge {
  readonly model: string;
  /** Empty without tags. */
  readonly tags: string;
  /** Time of the last request, in milliseconds since the epoch; all are of one day (UTC). */
  readonly at: number;
  /** Micro-credits. */
  readonly amount: number;
  /** Requests that cost something. */
  readonly paid: number;
  readonly counts: UsageCounts;
}

/** What one payer's escrow books and returns. */
export interface Fold {
  readonly payer: ScopedPayer;
  readonly charges: readonly Charge[];
  /** Micro-credits that the node no longer holds. */
  readonly returned: number;
  /** Micro-credits that it keeps and that no request has reserved, for the balances that other nodes show. */
  readonly idle: number;
  /** Micro-credits that the node knows to hold before the fold, after a draw whose commit is unknown. */
  readonly held?: number;
}

/** The accounts of all nodes, from which one node's escrows are drawn. */
export interface EscrowBank {
  /**
   * Counts credits as reserved by this node.
   *
   * @returns the micro-credits drawn, at least `least`; a Failure insufficient_quota where that is too much
   * @throws Failure `store_unavailable`
   */
  draw(draw: Draw): Promise<number | Failure>;
  /**
   * Books charges and releases returned credits. A batch that was committed before, which its number
   * shows, changes nothing.
   *
   * @throws Failure `store_unavailable`, also where the commit is unknown: the same batch must be repeated
   */
  fold(batch: FoldBatch): Promise<void>;
  /** Asks the other nodes to return what they do not need of an account. Resolves when they did. */
  recall(accountId: string): Promise<void>;
}

export interface FoldBatch {
  /** Node that drew the escrows. */
  readonly node: string;
  /** Ascending for each node. */
  readonly number: number;
  readonly folds: readonly Fold[];
}
