import { Failure } from '../../../../failure.ts';
import type { ScopedPayer } from '../../../budgets.ts';
import {
  charge,
  checkFunds,
  type Funds,
  release,
  reserve,
  spend,
  spendable,
} from '../../../funds.ts';
import type { Draw, Fold, FoldBatch } from '../escrow/bank.ts';
import type { Batch, RowOperation } from '../transactions/batch.ts';
import type { RowNeeds } from '../transactions/reads.ts';

function idOf(node: string, { accountId, keyId, scope }: ScopedPayer): string {
  const id = `${node} ${accountId} ${keyId}`;
  return scope ? `${id} ${scope.teamId ?? ''} ${scope.windows.join(' ')}` : id;
}

function needsOf(node: string, payers: readonly ScopedPayer[]): RowNeeds {
  return {
    accounts: payers.map(({ accountId }) => accountId),
    keys: payers.map(({ keyId }) => keyId),
    teams: payers.flatMap(({ scope }) => scope?.teamId ?? []),
    escrows: payers.map((payer) => idOf(node, payer)),
  };
}

/** Counts credits as reserved by a node. Returns the amount, or the failure where `least` is too much. */
export function drawEscrow(
  { node, payer, least, wanted, isAdvance = false }: Draw,
  now: number,
): RowOperation<number | Failure> {
  const { accountId, keyId, scope } = payer;
  return {
    needs: needsOf(node, [payer]),
    apply(batch) {
      const funds = batch.funds(batch.holder(payer), scope);
      try {
        checkFunds(funds, least, undefined, now);
      } catch (error) {
        if (error instanceof Failure) return error;
        throw error;
      }
      const most = spendable(funds);
      const amount = Math.min(wanted, isAdvance ? Math.floor(most / 2) : most);
      if (amount <= 0) return 0;
      batch.putFunds(reserve(funds, amount, undefined, now), amount);
      const id = idOf(node, payer);
      const none = { id, node, accountId, keyId, scope, amount: 0, idle: 0 };
      const known = batch.escrows.get(id) ?? none;
      batch.escrows.put({ ...known, amount: known.amount + amount });
      return amount;
    },
  };
}

/**
 * Books charges and releases what a node no longer holds. A batch that was booked changes nothing.
 *
 * @param onMissing called with payers that the database does not have, as after the restore of a backup; an
 *   operation without it is refused for them
 */
export function foldEscrows(
  { node, number, folds }: FoldBatch,
  onMissing?: (payer: ScopedPayer) => void,
): RowOperation<void> {
  const payers = folds.map(({ payer }) => payer);
  return {
    needs: { ...needsOf(node, payers), folds: [node] },
    apply(batch) {
      if ((batch.folds.get(node)?.number ?? 0) >= number) return;
      batch.folds.put({ id: node, number });
      for (const fold of folds) {
        const { accountId, keyId } = fold.payer;
        const isKnown = batch.accounts.get(accountId) && batch.keys.get(keyId);
        if (isKnown || !onMissing) foldOne(batch, node, fold);
        else onMissing(fold.payer);
      }
    },
  };
}

function foldOne(batch: Batch, node: string, fold: Fold): void {
  const { payer, charges, returned, idle } = fold;
  const { accountId, keyId, scope } = payer;
  const id = idOf(node, payer);
  const escrow = batch.escrows.get(id);
  let held = escrow?.amount ?? 0;
  const change = (move: (funds: Funds) => Funds, amount: number) => {
    batch.putFunds(move(batch.funds(batch.holder(payer), scope)), -amount);
    held -= amount;
  };
  for (const { model, tags, at, amount, paid, counts } of charges) {
    const backed = Math.min(held, amount);
    change((funds) => charge(funds, backed), backed);
    // The lease of the node was lost meanwhile, and with it the escrow.
    const holder = batch.holder(payer);
    const rest = Math.min(amount - backed, spendable(batch.funds(holder, scope)));
    if (rest > 0) change((funds) => spend(funds, rest), 0);
    const spent = backed + rest;
    if (spent > 0)
      batch.dailyCharge(batch.holder(payer), { model, requests: paid, amount: spent }, at);
    batch.addUsage({ accountId, keyId, scope }, { model, counts, charge: spent, tags }, at);
  }
  // A draw that was committed without an answer.
  const unknown = fold.held === undefined ? 0 : Math.max(0, (escrow?.amount ?? 0) - fold.held);
  const released = Math.min(held, returned + unknown);
  if (released > 0) change((funds) => release(funds, released), released);
  if (!escrow) return;
  if (held === 0) batch.escrows.remove(id);
  else batch.escrows.put({ ...escrow, amount: held, idle: Math.min(held, Math.max(0, idle)) });
}

/** Releases escrows of nodes whose lease has ended. */
export function returnEscrows(
  ids: readonly string[],
  isDead: (node: string) => boolean,
): RowOperation<void> {
  return {
    needs: { escrows: ids },
    apply(batch) {
      for (const id of ids) {
        const escrow = batch.escrows.get(id);
        if (!escrow || !isDead(escrow.node)) continue;
        const { scope, amount } = escrow;
        batch.putFunds(release(batch.funds(batch.holder(escrow), scope), amount), -amount);
        batch.escrows.remove(id);
      }
    },
  };
}
