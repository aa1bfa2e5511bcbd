import type { Account, ApiKey, Team } from './account.ts';
import type { Asset } from './asset.ts';
import type { BudgetWindow, ScopedPayer } from './budgets.ts';
import type { ConfigEntry } from './config-entry.ts';
import type { Delivery } from './delivery.ts';
import type { Document } from './document.ts';
import type { LedgerEntry, UsageRow } from './ledger.ts';
import type { Task } from './task.ts';

/** One record of a store as it is, for a copy to another store. Sessions are left out: people sign in again. So are
 * alerts. */
export type TransferRecord =
  | { readonly kind: 'account'; readonly row: Account }
  | { readonly kind: 'team'; readonly row: Team }
  | { readonly kind: 'key'; readonly row: ApiKey }
  | { readonly kind: 'window'; readonly row: BudgetWindow }
  | { readonly kind: 'ledger'; readonly row: LedgerEntry }
  | { readonly kind: 'usage'; readonly row: UsageRow }
  /** With its secrets encrypted: the file of the key is not copied. */
  | { readonly kind: 'config'; readonly row: ConfigEntry }
  | { readonly kind: 'upload'; readonly row: Asset }
  /** After all others, and those of an account in the order of creation. */
  | { readonly kind: 'document'; readonly row: Document }
  /** Credits that a node has reserved for text requests. It is read only: a copy is made of a store at rest. */
  | {
      readonly kind: 'escrow';
      readonly payer: ScopedPayer;
      readonly amount: number;
    }
  | {
      readonly kind: 'task';
      readonly row: Task;
      readonly assets: readonly Asset[];
      readonly delivery: Delivery | null;
    };

/** Reads and writes whole stores. */
export interface Transfer {
  /**
   * All records of one moment: those of one kind in the order of creation, and accounts before all others.
   * Only ended tasks that are deleted meanwhile may be missing.
   */
  read(): AsyncIterable<TransferRecord>;
  /** Writes records into an empty store. @throws Failure 409 `store_not_empty` */
  write(records: AsyncIterable<TransferRecord>): Promise<void>;
}
