import { carryForward, LEDGER_SLACK, MAX_DELETED_USAGE } from '../../../ledger.ts';
import type { Store } from '../../../store.ts';
import type { Records } from './records.ts';

/** The methods that shorten ledgers and usage. */
export function ledgerMethods(records: Records): Pick<Store, 'compactLedger' | 'deleteUsage'> {
  return {
    async compactLedger(accountId, { before = -Infinity, lines }) {
      const { ledgerOfAccount } = records.state;
      const count = ledgerOfAccount.count(accountId);
      const excess = count > lines * LEDGER_SLACK ? count - lines : 0;
      if (excess === 0 && before === -Infinity) return;
      const entries = Array.from(ledgerOfAccount.oldest(accountId), ([, entry]) => entry);
      const folded = carryForward(entries, ({ at }, index) => index < excess || at < before);
      if (!folded) return;
      const transaction = records.begin();
      for (const { id } of entries.slice(0, folded.count - 1)) {
        transaction.changes.push(['ledger', id, null]);
      }
      transaction.changes.push(['ledger', folded.carried.id, folded.carried]);
      await records.commit(transaction);
    },
    async deleteUsage(before) {
      const transaction = records.begin();
      const { changes } = transaction;
      for (const [order, { day }] of records.state.usage.rows) {
        if (day >= before) continue;
        changes.push(['usage', order, null]);
        if (changes.length === MAX_DELETED_USAGE) break;
      }
      await records.commit(transaction);
      return changes.length;
    },
  };
}
