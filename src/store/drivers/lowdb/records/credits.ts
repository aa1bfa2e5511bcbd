import { accountFunds, checkAmount, checkFunds, spendable } from '../../../funds.ts';
import { carryForward, LEDGER_SLACK, MAX_DELETED_USAGE } from '../../../ledger.ts';
import type { KeyHolder, Store } from '../../../store.ts';
import type { Records } from './records.ts';

/** The methods that reserve and charge credits of requests. */
export function creditMethods(records: Records) {
  const { booked, reservations, charges, commits, now, onCharge } = records;
  /** Team and windows in which credits that are reserved now will count. */
  const scopeOf = ({ key }: KeyHolder) => {
    const team = key.teamId === undefined ? undefined : booked.find('team', key.teamId);
    return records.scopes.of(key, team, now());
  };
  return {
    async reserve(accountId, keyId, amount) {
      const payer = { accountId, keyId };
      const holder = booked.holder(payer);
      const scope = scopeOf(holder);
      checkFunds(booked.funds(holder, scope), amount, reservations.of, now());
      // A free request has no charge to lose: its usage is kept in memory until it can be written.
      if (amount > 0) {
        if (commits.failure) throw commits.failure;
        records.checkBacklog();
      }
      return reservations.begin(payer, scope, amount);
    },
    async settle(source, metered) {
      checkAmount(metered.charge, 'charge');
      const holder = booked.holder(source);
      const isReserved = 'id' in source;
      if (isReserved && !reservations.end(source.id)) return 0;
      records.checkOpen();
      const scope = isReserved ? source.scope : scopeOf(holder);
      // What was reserved is charged in full, also where a budget was lowered since.
      const reserved = isReserved
        ? Math.min(source.amount, accountFunds(holder, reservations.of))
        : 0;
      let amount = metered.charge;
      if (amount > reserved) {
        const funds = booked.funds(holder, scope);
        amount = Math.min(amount, Math.max(reserved, spendable(funds, reservations.of)));
      }
      if (amount > 0) onCharge?.(source);
      await charges.add({ payer: source, scope, metered, amount, at: now() });
      return amount;
    },
    async release({ id }) {
      reservations.end(id);
    },
  } satisfies Partial<Store>;
}

/** The methods that shorten ledgers and usage. */
export function ledgerMethods(records: Records) {
  return {
    async compactLedger(accountId, { before = -Infinity, lines }) {
      const { ledgerOfAccount } = records.state;
      const count = ledgerOfAccount.count(accountId);
      const excess = count > lines * LEDGER_SLACK ? count - lines : 0;
      if (excess === 0 && before === -Infinity) return;
      const entries = Array.from(ledgerOfAccount.oldest(accountId), ([, entry]) => entry);
      const folded = carryForward(entries, ({ at }, index) => index < excess || at < before);
      if (!folded) return;
      await records.change(({ changes }) => {
        for (const { id } of entries.slice(0, folded.count - 1)) changes.push(['ledger', id, null]);
        changes.push(['ledger', folded.carried.id, folded.carried]);
      });
    },
    async deleteUsage(before) {
      return records.change(({ changes }) => {
        for (const [order, { day }] of records.state.usage.rows) {
          if (day >= before) continue;
          changes.push(['usage', order, null]);
          if (changes.length === MAX_DELETED_USAGE) break;
        }
        return changes.length;
      });
    },
  } satisfies Partial<Store>;
}
