import { carryForward, type LedgerEntry } from '../../../ledger.ts';
import type { Records } from './records.ts';

/** A ledger is compacted when it exceeds its limit by this factor, not at the end of every task. */
const LEDGER_SLACK = 1.1;

/** Maximum rows of usage that one transaction deletes. */
const MAX_DELETED_USAGE = 10_000;

/** The methods that shorten ledgers and usage. */
export class LedgerWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async compactLedger(
    accountId: string,
    { before = -Infinity, lines }: { before?: number; lines: number },
  ): Promise<void> {
    const { ledgerOfAccount } = this.#records.state;
    const count = ledgerOfAccount.count(accountId);
    const excess = count > lines * LEDGER_SLACK ? count - lines : 0;
    if (excess === 0 && before === -Infinity) return;
    const entries = [...ledgerOfAccount.oldest(accountId)];
    const isFolded = (entry: LedgerEntry, index: number) => index < excess || entry.at < before;
    const folded = carryForward(
      entries.map(([, entry]) => entry),
      isFolded,
    );
    if (!folded) return;
    const transaction = this.#records.begin();
    for (const [order] of entries.slice(0, folded.count - 1)) {
      transaction.changes.push(['ledger', order, null]);
    }
    transaction.changes.push(['ledger', folded.carried.id, folded.carried]);
    await this.#records.commit(transaction);
  }

  async deleteUsage(before: string): Promise<number> {
    const transaction = this.#records.begin();
    for (const [order, { day }] of this.#records.state.usage.rows) {
      if (day >= before) continue;
      transaction.changes.push(['usage', order, null]);
      if (transaction.changes.length === MAX_DELETED_USAGE) break;
    }
    const { length } = transaction.changes;
    if (length > 0) await this.#records.commit(transaction);
    return length;
  }
}
