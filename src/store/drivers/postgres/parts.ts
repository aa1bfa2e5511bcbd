import type { BudgetScopes, Payer } from '../../budgets.ts';
import { closed } from '../../errors.ts';
import type { WorkCharges } from '../../ledger.ts';
import type { Bank } from './bank.ts';
import type { Database } from './database/database.ts';
import type { ChargeLog } from './escrow/charge-log.ts';
import type { Escrows } from './escrow/escrows.ts';
import type { Events } from './events.ts';
import type { NodeLease } from './nodes.ts';
import type { Balances } from './readers/balances.ts';
import type { KeyCache } from './readers/key-cache.ts';
import type { Transactions } from './transactions/transactions.ts';

/** What the driver is made of. `open.ts` makes it. */
export interface PostgresParts {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly balances: Balances;
  readonly lease: NodeLease;
  readonly events: Events;
  readonly bank: Bank;
  readonly keys: KeyCache;
  readonly escrows: Escrows;
  readonly log: ChargeLog;
  readonly scopes: BudgetScopes;
  /** Aborted when the store begins to close. */
  readonly closing: AbortController;
  /** Waits until all charges of this node are in the database. Rejects if the store is closed. */
  readonly bookCharges: () => Promise<void>;
  readonly now: () => number;
  readonly onFault: (error: unknown) => void;
  readonly onCharge: ((payer: Payer) => void) | undefined;
  /** Ends the use of the folder. */
  readonly release: () => Promise<void>;
}

export function checkOpen({ closing }: PostgresParts): void {
  if (closing.signal.aborted) throw closed();
}

/** Ends the reservations for work that is charged next, and returns what this node holds of the account in advance. */
export async function beginCharge(
  { escrows, onCharge }: PostgresParts,
  accountId: string,
  { keyId, held }: WorkCharges,
): Promise<void> {
  for (const reservation of held) escrows.release(reservation);
  await escrows.returnFree(accountId);
  onCharge?.({ accountId, keyId });
}
