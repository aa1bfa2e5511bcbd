import type { Payer, ScopedPayer } from '../../budgets.ts';
import { notFound } from '../../errors.ts';
import { checkAmount } from '../../funds.ts';
import type { KeyHolder, Store } from '../../store.ts';
import { checkOpen, type PostgresParts } from './parts.ts';
import { hashOfKey, loadSession, storedAccount } from './readers/account-queries.ts';

/** The methods that every request calls: keys and sessions are found, credits reserved and charged. */
export function creditMethods(parts: PostgresParts) {
  const { database, balances, keys, escrows, scopes, now } = parts;
  /** Hashes of keys by their identifiers; neither changes. */
  const hashes = new Map<string, string>();

  async function findKey(hash: string): Promise<KeyHolder | undefined> {
    checkOpen(parts);
    const found = await keys.find(hash);
    if (found) hashes.set(found.key.id, hash);
    return found;
  }

  /** Account and key with the team and the windows in which credits that are reserved now count. */
  async function payerOf({ accountId, keyId }: Payer): Promise<ScopedPayer> {
    const hash = hashes.get(keyId) ?? (await hashOfKey(database, keyId));
    const found = hash === undefined ? undefined : await keys.find(hash);
    if (found?.key.accountId !== accountId) {
      const account = await storedAccount(balances, accountId);
      throw account?.id === accountId ? notFound('key', keyId) : notFound('account', accountId);
    }
    hashes.set(keyId, hash!);
    return { accountId, keyId, scope: scopes.of(found.key, found.team, now()) };
  }

  return {
    findKey,
    async findSession(hash) {
      const found = await loadSession(database, hash, now());
      const holder = found && (await findKey(found.keyHash));
      return holder && { session: found.session, holder };
    },
    async reserve(accountId, keyId, amount) {
      checkAmount(amount, 'reservation');
      return escrows.reserve(await payerOf({ accountId, keyId }), amount);
    },
    async settle(source, metered) {
      checkAmount(metered.charge, 'charge');
      checkOpen(parts);
      const amount = await escrows.settle('id' in source ? source : await payerOf(source), metered);
      if (amount > 0) parts.onCharge?.(source);
      return amount;
    },
    async release(reservation) {
      escrows.release(reservation);
    },
  } satisfies Partial<Store>;
}
