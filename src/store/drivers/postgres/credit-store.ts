import type { Session } from '../../account.ts';
import type { Payer, Reservation } from '../../budgets.ts';
import { notFound } from '../../errors.ts';
import { checkAmount } from '../../funds.ts';
import type { MeteredUsage } from '../../ledger.ts';
import type { KeyHolder } from '../../store.ts';
import type { ScopedPayer } from './escrow/bank.ts';
import { StorePart } from './store-part.ts';

/** The methods that every request calls: keys and sessions are found, credits reserved and charged. */
export class CreditStore extends StorePart {
  /** Hashes of keys by their identifiers; neither changes. */
  readonly #hashes = new Map<string, string>();

  async findKey(hash: string): Promise<KeyHolder | undefined> {
    this.checkOpen();
    const found = await this.parts.keys.find(hash);
    if (found) this.#hashes.set(found.key.id, hash);
    return found && { key: found.key, account: found.account };
  }

  async findSession(
    hash: string,
  ): Promise<{ readonly session: Session; readonly holder: KeyHolder } | undefined> {
    const found = await this.parts.reader.loadSession(hash, this.now);
    const holder = found && (await this.findKey(found.keyHash));
    return holder && { session: found.session, holder };
  }

  async reserve(accountId: string, keyId: string, amount: number): Promise<Reservation> {
    checkAmount(amount, 'reservation');
    return this.parts.escrows.reserve(await this.#payer({ accountId, keyId }), amount);
  }

  async settle(source: Reservation | Payer, metered: MeteredUsage): Promise<number> {
    checkAmount(metered.charge, 'charge');
    this.checkOpen();
    const payer = 'id' in source ? source : await this.#payer(source);
    return this.parts.escrows.settle(payer, metered);
  }

  async release(reservation: Reservation): Promise<void> {
    this.parts.escrows.release(reservation);
  }

  /** Account and key with the team and the windows in which credits that are reserved now count. */
  async #payer({ accountId, keyId }: Payer): Promise<ScopedPayer> {
    const hash = this.#hashes.get(keyId) ?? (await this.parts.reader.hashOf(keyId));
    const found = hash === undefined ? undefined : await this.parts.keys.find(hash);
    if (found?.key.accountId !== accountId) {
      const account = await this.parts.reader.storedAccount(accountId);
      throw account?.id === accountId ? notFound('key', keyId) : notFound('account', accountId);
    }
    this.#hashes.set(keyId, hash!);
    const scope = this.parts.scopes.of(found.key, found.team, this.now);
    return { accountId, keyId, scope };
  }
}
